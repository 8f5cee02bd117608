// RoomAgreement: how two processes that may have only so many queue pairs agree to connect (CT-2). A
// connection takes room at both ends. Whoever took its own and then waited for the other end's would wait in
// a circle with others, all of them full; so both ends agree first, by two datagrams, and nobody who waits
// keeps room from others for longer than an answer takes.
//
//   waiting --there is room, ask--> asked --yes--> agreed --queue pairs made--> gone
//      ^                              |               |
//      +------- not now, no answer ---+---------------+
//
// Who asks keeps room for the answer. Who is asked and has room keeps it, and says yes. Who has none
// remembers who asked, says "not now", and asks as soon as there is room. Of two that ask each other, both
// say yes.
//
// If all keep their room for questions, all would say "not now". So who may soon have room, because it waits
// for an answer itself, waits with its own answer for processes that are before it in an order (a mixed-up
// one, for short chains). Waiting goes up in the order only, so somebody always answers at once, and of
// processes that ask in a circle at least two agree.
//
// A process that computes does not answer. The room that is kept for it is given to others after a while; and
// if for long nothing goes on though some wait, for its queue pairs are all with such processes, it takes one
// peer more than it should. A pure machine: it knows peers by their numbers only.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/intrusive_list.h"
#include "base/time.h"
#include "channel/transport.h"

namespace hawser {

struct RoomTimes {
  // How long room is kept for an answer, and for queue pairs that were agreed upon.
  static constexpr Nanoseconds answer_time = 1 * millisecond, making_time = 20 * millisecond;
  // Until a peer that had no room is asked again if it does not ask itself; doubled each time.
  static constexpr Nanoseconds first_rest = 200 * microsecond, longest_rest = 6400 * microsecond;
  // Nobody agrees for so long though some wait, and there is no room to ask others: then it takes one more.
  static constexpr Nanoseconds patience = 20 * millisecond;
  // A peer that is asked so often and never answers is connected with as if it had agreed: perhaps it is not
  // where it was, and connecting finds that out.
  static constexpr std::uint8_t most_silences = 8;
  // For so many peers room is made at a time.
  static constexpr int most_asked = 4;
};

class RoomAgreement {
 public:
  // `most`: queue pairs.
  RoomAgreement(ProcessIndex self, std::int32_t most) : self_(self), most_(most) {}

  struct Action {
    enum class Kind : std::uint8_t {
      ask,      // the peer, by datagram
      yes,      // answer it
      not_now,  // the same; or give back what it agreed to
      connect,  // both have room, and this end begins
      admit,    // the peer's request, which waits
    };
    Kind kind;
    ProcessIndex peer;
    bool operator==(const Action&) const = default;
  };

  // Events. `pairs`: queue pairs that a connection with the peer has.
  // This process has something to send to the peer. False: that is known.
  bool want(ProcessIndex peer, std::int32_t pairs, Nanoseconds now);
  // A request of the peer's, which did not ask before, waits for room.
  void on_request(ProcessIndex peer, std::int32_t pairs, Nanoseconds now);
  void on_question(ProcessIndex peer, std::int32_t pairs, Nanoseconds now);
  void on_yes(ProcessIndex peer, std::int32_t pairs, Nanoseconds now);
  void on_not_now(ProcessIndex peer, Nanoseconds now);
  // The peer has so many queue pairs now. All: the agreement is carried out.
  void on_made(ProcessIndex peer, std::int32_t pairs);
  // The peer's queue pairs are gone; some may never have been made.
  void on_parted(ProcessIndex peer);
  // There is nothing to agree on any more.
  void forget(ProcessIndex peer);
  void set_most(std::int32_t most) { most_ = most; }
  // This process has so many queue pairs in all; to be told before all else, and then look().
  void set_queue_pairs(std::int32_t count);
  void look(Nanoseconds now);

  // What is to be done. Emptied by the caller.
  std::vector<Action>& actions() { return actions_; }

  // Whether there is room for a request of the peer's, and whether this end is to begin.
  bool has_room(ProcessIndex peer) const;
  bool begins(ProcessIndex peer) const;
  // How many queue pairs there should be fewer, so that the next ones that wait find room; below 0: so much
  // room is left.
  std::int32_t excess() const;
  bool idle() const { return entries_.empty(); }
  // Peers that it had no room for, though it waited for long.
  std::uint64_t beyond() const { return beyond_; }
  // Whether what was agreed did not come about, since it was asked last: whoever still wants to has to be
  // given a chance to say so.
  bool take_lapsed() { return std::exchange(lapsed_, false); }
  // When look() has something to do; never: not by itself.
  Nanoseconds deadline() const;
  void check_invariants() const;

 private:
  enum class State : std::uint8_t { waiting, resting, asked, agreed };
  struct Entry {
    ProcessIndex peer = -1;
    std::int32_t pairs = 0;
    std::int32_t made = 0;
    State state = State::waiting;
    bool unanswered = false;  // waiting, resting: its question is
    bool requests = false;    // its request waits
    bool begins = false;      // agreed: this end connects
    std::uint8_t rests = 0;
    std::uint8_t silences = 0;  // questions in a row that it did not answer
    Nanoseconds due = 0;        // resting: until then; asked, agreed: room is kept for so long
    ListLink link;              // in the list of its state
  };
  using List = IntrusiveList<Entry, &Entry::link>;
  Entry* find(ProcessIndex peer);
  const Entry* find(ProcessIndex peer) const;
  Entry& obtain(ProcessIndex peer, std::int32_t pairs, Nanoseconds now);
  List& list_of(State state);
  void move(Entry& entry, State state, Nanoseconds due);
  void rest(Entry& entry, Nanoseconds now);
  void erase(Entry& entry);
  void agree(Entry& entry, Nanoseconds now);
  void begin(Entry& entry);
  void add(Action::Kind kind, const Entry& entry) { actions_.push_back({kind, entry.peer}); }
  std::int32_t kept(const Entry& entry) const { return entry.pairs - entry.made; }
  // For long nobody agreed, though some wait and there is no room to ask others.
  bool stuck(Nanoseconds now) const {
    return !waiting_.empty() && kept_.empty() && now - moved_ >= RoomTimes::patience;
  }
  bool room_for(std::int32_t pairs) const { return taken_ == 0 || taken_ + pairs <= most_; }
  void let_in(Entry& entry, Nanoseconds now);
  void end_late(Nanoseconds now);
  void wake(Nanoseconds now);
  void settle(Nanoseconds now);

  ProcessIndex self_;
  std::int32_t most_;
  std::int32_t queue_pairs_ = 0;
  std::int32_t taken_ = 0;  // queue pairs, and room that is kept
  int asked_count_ = 0, unanswered_count_ = 0;
  std::uint64_t beyond_ = 0;
  bool lapsed_ = false;
  Nanoseconds beyond_again_ = 0;  // not before
  Nanoseconds moved_ = 0;         // when two agreed last, or the first one began to wait
  std::unordered_map<ProcessIndex, Entry> entries_;
  List waiting_, resting_, kept_;
  std::vector<Action> actions_;
};

}  // namespace hawser
