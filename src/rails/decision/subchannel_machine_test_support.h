// What the tests of the subchannel machine share: names, and the table of what each event does in each state.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "rails/decision/subchannel_machine.h"

namespace hawser::machine_test {

using State = SubchannelState;
using Event = SubchannelEvent;
using EventKind = SubchannelEvent::Kind;
using Do = SubchannelAction::Kind;

std::string name_of(EventKind kind);
std::string name_of(Do kind);

// "forget destroy show(failed) -> failed", with what tells actions of one kind apart in brackets; the state
// is left out if it is the one before.
std::string text_of(const SubchannelActions& actions, State before, State after);

extern const std::string given_up, dropped, parts;
// What a failure does: `more` is probing, ready or suspected, if it was.
std::string down(const char* reason, const char* more, const char* next);
// The same in each state in which it does anything.
std::map<State, std::string> fails(const char* reason, const char* next = "stopping");
inline constexpr State all_states[] = {State::closed,   State::connecting, State::accepted, State::probing,
                                       State::ready,    State::suspected,  State::stopping, State::answering,
                                       State::fencing,  State::failed,     State::asking,   State::closing,
                                       State::emptying, State::parting,    State::parked};
static_assert(std::size(all_states) == subchannel_states);

// A row of the table: an event as it happens to the machines of generation 5 that in_state() makes, and what
// it does. A state that is not named takes no action and stays. `reports`: only the states that are named can
// get the event; for others it is an error of the caller.
struct Row {
  const char* name;
  Event event;
  bool reports;
  std::map<State, std::string> effects;
};
const std::vector<Row>& table();
// The part of it about connections that are closed on purpose (subchannel_closing_table_test.cpp).
std::vector<Row> rows_of_closing();
std::vector<Row> rows_of_parting();

// Both maps of rows.
inline std::map<State, std::string> with(std::map<State, std::string> rows,
                                         std::map<State, std::string> more) {
  rows.merge(more);
  return rows;
}
inline std::map<State, std::string> in(std::initializer_list<State> states, const std::string& effect) {
  std::map<State, std::string> rows;
  for (const State state : states) rows[state] = effect;
  return rows;
}
inline std::map<State, std::string> elsewhere(const std::string& effect, std::map<State, std::string> rows) {
  for (const State state : all_states) rows.try_emplace(state, effect);
  return rows;
}

// A machine that came into the state by what happens in life, at generation 5 (closed: 0), of the end that
// drives recoveries, but for `asking`.
class Machine {
 public:
  explicit Machine(State state, bool drives = true);
  SubchannelMachine& operator*() { return machine_; }
  SubchannelMachine* operator->() { return &machine_; }
  // Lets the event happen now, and says what it did.
  std::string effect(const Event& event);

  Nanoseconds now = 1 * second;

 private:
  SubchannelSettings settings_;
  HealthSettings health_;
  Random random_{1};
  SubchannelMachine machine_;
};

// Pairs of state and event in which the table has an effect.
std::map<std::pair<State, EventKind>, bool> rows_with_effect();

}  // namespace hawser::machine_test
