// The subchannel machine's table: what every event does in every state.
#include "rails/decision/subchannel_machine_test_support.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "base/enum_names.h"

namespace hawser::machine_test {

static_assert(enumerators<EventKind> == subchannel_events);
static_assert(enumerators<Do> == subchannel_actions);
std::string name_of(EventKind kind) { return enum_name(kind); }
std::string name_of(Do kind) { return enum_name(kind); }

std::string text_of(const SubchannelActions& actions, State before, State after) {
  std::string text;
  for (const SubchannelAction& action : actions) {
    text += (text.empty() ? "" : " ") + name_of(action.kind);
    switch (action.kind) {
      case Do::show:
        text += fmt::format("({},{})", subchannel_state_name(action.state), path_reason_name(action.reason));
        break;
      case Do::blame:
      case Do::lose_peer:
      case Do::show_refused:
        text += fmt::format("({})", path_reason_name(action.reason));
        break;
      case Do::note_failure:
        text += fmt::format("({}{}{})", path_reason_name(action.reason), action.recovered ? ",again" : "",
                            action.state == State::probing ? ",probing" : "");
        break;
      case Do::enter_service:
        text += fmt::format("({})", path_reason_name(action.reason));
        break;
      case Do::accept:
        text += fmt::format("({})", action.connection_generation);
        break;
      case Do::leave_service:
        if (action.reason != PathReason::none) text += fmt::format("({})", path_reason_name(action.reason));
        break;
      case Do::send_close:
        text += fmt::format("({}:{},{})", action.connection_generation, action.sent, action.turn);
        break;
      case Do::send_parted:
        text += fmt::format("({}:{},{},{})", action.connection_generation, action.received, action.sent,
                            action.turn);
        break;
      case Do::send_fence:
      case Do::send_answer:
        text += fmt::format("({}:{},{})", action.connection_generation, action.received, action.turn);
        break;
      case Do::reissue:
      case Do::malformed:
        text += fmt::format("({})", action.received);
        break;
      case Do::cut:
      case Do::park:
        text += fmt::format("({})", subchannel_state_name(action.state));
        break;
      case Do::reconnect_request:
        text += fmt::format("({})", action.turn);
        break;
      case Do::connect:
      case Do::request:
      case Do::send_probes:
      case Do::answer_probe:
      case Do::forget:
      case Do::stop:
      case Do::poll:
      case Do::destroy:
      case Do::drop_unsequenced:
      case Do::ask_address:
      case Do::discard:
      case Do::avoid:
      case Do::test:
      case Do::use_again:
      case Do::stale:
      case Do::unproven:
        break;
    }
  }
  if (after != before) text += fmt::format("{}-> {}", text.empty() ? "" : " ", subchannel_state_name(after));
  return text;
}

std::string down(const char* reason, const char* more, const char* next) {
  return fmt::format("blame({0}) note_failure({0}{1}) show({2},{0}) {3}forget stop -> {2}", reason,
                     std::string_view(more) == "probing" ? ",again,probing" : "", next,
                     std::string_view(more) == "suspected" ? "use_again leave_service "
                     : std::string_view(more) == "ready"   ? "leave_service "
                                                           : "");
}

const std::string given_up = "forget destroy show(failed,connect_failed)";
const std::string dropped = "destroy show(failed,connect_failed)";
const std::string parts = "reissue(7) show(parked,torn_down) park(parting) -> parked";

std::map<State, std::string> fails(const char* reason, const char* next) {
  return {{State::accepted, down(reason, "", next)},   {State::probing, down(reason, "probing", next)},
          {State::ready, down(reason, "ready", next)}, {State::suspected, down(reason, "suspected", next)},
          {State::closing, down(reason, "", next)},    {State::emptying, down(reason, "", next)}};
}
namespace {

std::vector<Row> rows_of_this_process() {
  using enum State;
  using K = EventKind;
  return {
      {"want", {.kind = K::want}, false, {{closed, "connect"}, {parked, "connect"}}},
      {"look, nothing is due", {.kind = K::look}, false, {{probing, "send_probes"}}},
      {"fail",
       {.kind = K::fail, .reason = PathReason::watchdog},
       false,
       with(fails("watchdog"), {{connecting, given_up + " -> failed"}})},
      {"post_failed", {.kind = K::post_failed}, false, {}},
      {"damaged", {.kind = K::damaged}, false, fails("checksum")},
      {"drained",
       {.kind = K::drained, .received = 3, .sent = 9},
       false,
       {{stopping, "destroy show(fencing,none) drop_unsequenced send_fence(5:3,0) -> fencing"},
        {answering,
         "destroy show(fencing,none) drop_unsequenced send_answer(5:3,0) reissue(7) show(failed,none) -> "
         "failed"}}},
      {"drained, and the peer claims more than was sent",
       {.kind = K::drained, .received = 3, .sent = 6},
       false,
       {{stopping, "destroy show(fencing,none) drop_unsequenced send_fence(5:3,0) -> fencing"},
        {answering,
         "destroy show(fencing,none) drop_unsequenced send_answer(5:3,0) malformed(7) -> fencing"}}},
      {"suspect", {.kind = K::suspect}, false, {{ready, "avoid show(suspected,blamed) test -> suspected"}}},
      {"rate: slow",
       {.kind = K::rate, .slow = true},
       false,
       {{ready, "show(ready,slow)"}, {suspected, "show(suspected,slow)"}}},
      {"rate: well", {.kind = K::rate}, false, {}},
      {"needed", {.kind = K::needed}, false, {}},
      {"port_returned", {.kind = K::port_returned}, false, {}},
      {"path_returned", {.kind = K::path_returned}, false, {}},
      {"lost",
       {.kind = K::lost},
       false,
       {{closed, "forget cut(closed) show(closed,none) discard"},
        {connecting, "forget cut(connecting) show(closed,none) discard -> closed"},
        {accepted, "forget cut(accepted) show(closed,none) discard -> closed"},
        {probing, "forget cut(probing) show(closed,none) discard -> closed"},
        {ready, "forget cut(ready) show(closed,none) leave_service discard -> closed"},
        {suspected, "forget cut(suspected) show(closed,none) use_again leave_service discard -> closed"},
        {stopping, "forget cut(stopping) show(closed,none) discard -> closed"},
        {answering, "forget cut(answering) show(closed,none) discard -> closed"},
        {fencing, "forget cut(fencing) show(closed,none) discard -> closed"},
        {failed, "forget cut(failed) show(closed,none) discard -> closed"},
        {asking, "forget cut(asking) show(closed,none) discard -> closed"},
        {closing, "forget cut(closing) show(closed,none) discard -> closed"},
        {emptying, "forget cut(emptying) show(closed,none) discard -> closed"},
        {parting, "forget cut(parting) show(closed,none) discard -> closed"},
        {parked, "forget cut(parked) show(closed,none) discard -> closed"}}},
  };
}

std::vector<Row> rows_of_the_peer() {
  using enum State;
  using K = EventKind;
  return {
      {"request, newer",
       {.kind = K::request, .connection_generation = 6},
       false,
       {{closed, "accept(6)"},
        {failed, "accept(6)"},
        {asking, "accept(6)"},
        {parked, "accept(6)"},
        {accepted, dropped + " accept(6) -> failed"}}},
      {"request, newer, but packets came",
       {.kind = K::request, .connection_generation = 6, .received = 1},
       false,
       in({closed, failed, asking, parked}, "accept(6)")},
      {"request, of now", {.kind = K::request, .connection_generation = 5}, false, {{closed, "accept(5)"}}},
      {"request, older", {.kind = K::request, .connection_generation = 0}, false, {}},
      {"first packet",
       {.kind = K::first_packet},
       false,
       {{accepted, "enter_service(first_connection) -> ready"}, {probing, "unproven"}}},
      {"first packet, a probe",
       {.kind = K::first_packet, .probe = true},
       false,
       {{accepted, "show(probing,none) -> probing"}}},
      {"probe", {.kind = K::probe}, false, elsewhere("stale", {{probing, "answer_probe"}})},
      {"probe_answer, of none that was sent", {.kind = K::probe_answer}, false, elsewhere("stale", {})},
  };
}

std::vector<Row> rows_of_fences() {
  using enum State;
  using K = EventKind;
  return {
      {"fence, of now",
       {.kind = K::fence, .connection_generation = 5, .received = 7},
       false,
       with(fails("peer_asked", "answering"),
            {{closed, "forget send_answer(5:0,0)"},
             {connecting, given_up + " send_answer(5:0,0) -> failed"},
             {stopping, "-> answering"},
             {fencing, "send_answer(5:3,0) reissue(7) show(failed,none) -> failed"},
             {failed, "send_answer(5:3,0)"},
             {asking, "send_answer(5:3,0)"},
             {parting, "send_answer(5:3,0) " + parts},
             {parked, "send_answer(5:3,0)"}})},
      {"fence, of now, that claims more than was sent",
       {.kind = K::fence, .connection_generation = 5, .received = 10},
       false,
       with(fails("peer_asked", "answering"), {{closed, "forget send_answer(5:0,0)"},
                                               {connecting, given_up + " send_answer(5:0,0) -> failed"},
                                               {stopping, "-> answering"},
                                               {fencing, "send_answer(5:3,0) malformed(10)"},
                                               {failed, "send_answer(5:3,0)"},
                                               {asking, "send_answer(5:3,0)"},
                                               {parting, "send_answer(5:3,0) malformed(10)"},
                                               {parked, "send_answer(5:3,0)"}})},
      {"fence, of one to come",
       {.kind = K::fence, .connection_generation = 6, .received = 7},
       false,
       elsewhere("stale", {{closed, "forget send_answer(6:0,0)"},
                           {connecting, given_up + " forget send_answer(6:0,0) -> failed"},
                           {failed, "forget send_answer(6:0,0)"},
                           {asking, "forget send_answer(6:0,0)"},
                           {parked, "forget send_answer(6:0,0)"}})},
      {"fence, of one that was given up",
       {.kind = K::fence, .connection_generation = 4, .received = 7},
       false,
       elsewhere("stale", {{closed, "forget send_answer(4:0,0)"},
                           {connecting, "send_answer(4:0,0)"},
                           {probing, "send_answer(4:0,0)"}})},
      {"fence, far behind",
       {.kind = K::fence, .connection_generation = 0xffffff00, .received = 7},
       false,
       elsewhere("stale", {})},
      {"fence_answer",
       {.kind = K::fence_answer, .connection_generation = 5, .received = 7},
       false,
       elsewhere("stale", {{fencing, "reissue(7) show(failed,none) -> failed"},
                           {parting, parts},
                           {stopping, ""},
                           {answering, ""}})},
      {"fence_answer that claims more than was sent",
       {.kind = K::fence_answer, .connection_generation = 5, .received = 10},
       false,
       elsewhere("stale",
                 {{fencing, "malformed(10)"}, {parting, "malformed(10)"}, {stopping, ""}, {answering, ""}})},
      {"fence_answer, of another",
       {.kind = K::fence_answer, .connection_generation = 4, .received = 7},
       false,
       elsewhere("stale", {})},
  };
}

std::vector<Row> rows_of_reconnect_requests() {
  using enum State;
  using K = EventKind;
  return {
      {"reconnect request, of now",
       {.kind = K::reconnect_request, .connection_generation = 5},
       false,
       {{closed, "forget connect"}, {accepted, given_up + " -> failed"}, {parked, "connect"}}},
      {"reconnect request, of one to come",
       {.kind = K::reconnect_request, .connection_generation = 6},
       false,
       {{closed, "forget connect"},
        {connecting, given_up + " forget -> failed"},
        {accepted, given_up + " forget -> failed"},
        {failed, "forget"},
        {asking, "forget"},
        {parked, "forget connect"}}},
      {"reconnect request, but packets came",
       {.kind = K::reconnect_request, .connection_generation = 6, .received = 1},
       false,
       {{closed, "forget connect"},
        {connecting, given_up + " forget -> failed"},
        {failed, "forget"},
        {asking, "forget"},
        {parked, "forget connect"}}},
      {"reconnect request, older",
       {.kind = K::reconnect_request, .connection_generation = 0},
       false,
       {{closed, "connect"}, {parked, "connect"}}},
  };
}

std::vector<Row> rows_of_reports() {
  using enum State;
  using K = EventKind;
  const std::string begun = "show(connecting,none) request -> connecting";
  const std::string refused = "show_refused(port_down) show(failed,port_down)";
  return {
      {"connect_begun",
       {.kind = K::connect_begun, .connection_generation = 9},
       true,
       in({closed, failed, parked}, begun)},
      {"connect_refused",
       {.kind = K::connect_refused, .reason = PathReason::port_down},
       true,
       {{closed, refused + " -> failed"}, {failed, refused}, {parked, refused + " -> failed"}}},
      {"joined",
       {.kind = K::joined, .probes = 2},
       true,
       {{connecting, "enter_service(first_connection) -> ready"}}},
      {"join_failed", {.kind = K::join_failed}, true, {{connecting, given_up + " -> failed"}}},
      {"abandoned, gave up",
       {.kind = K::abandoned, .connection_generation = 5, .gave_up = true},
       false,
       {{connecting, dropped + " ask_address -> failed"}}},
      {"abandoned, for the peer's stands",
       {.kind = K::abandoned, .connection_generation = 5},
       false,
       {{connecting, dropped + " -> failed"}}},
      {"abandoned, another", {.kind = K::abandoned, .connection_generation = 4}, false, {}},
      {"accepted",
       {.kind = K::accepted, .connection_generation = 6},
       true,
       in({closed, failed, asking, parked}, "show(accepted,none) -> accepted")},
      {"accept_failed",
       {.kind = K::accept_failed, .connection_generation = 6},
       true,
       with(in({closed, asking, parked}, dropped + " -> failed"), {{failed, dropped}})},
      {"probes_posted", {.kind = K::probes_posted, .probes = 1}, true, {{probing, ""}}},
      {"marker_posted", {.kind = K::marker_posted}, true, {{stopping, ""}, {answering, ""}}},
      {"fence_sent", {.kind = K::fence_sent}, true, {{fencing, ""}}},
      {"test_pending", {.kind = K::test_pending, .test = 77}, true, {{suspected, ""}}},
      {"test_delivered",
       {.kind = K::test_delivered},
       true,
       {{suspected, "use_again show(ready,well_again) -> ready"}}},
  };
}

}  // namespace

const std::vector<Row>& table() {
  static const std::vector<Row> rows = [] {
    std::vector<Row> all;
    for (const auto& part :
         {rows_of_this_process(), rows_of_the_peer(), rows_of_fences(), rows_of_reconnect_requests(),
          rows_of_closing(), rows_of_parting(), rows_of_reports()})
      all.insert(all.end(), part.begin(), part.end());
    return all;
  }();
  return rows;
}

namespace {
bool is_closed_on_purpose(State state) {
  return state == State::closing || state == State::emptying || state == State::parting ||
         state == State::parked;
}
}  // namespace

Machine::Machine(State state, bool drives)
    : machine_(settings_, health_, random_, (drives || state == State::probing) && state != State::asking) {
  using K = EventKind;
  const auto on = [this](const Event& event) { static_cast<void>(machine_.on(event, now)); };
  const auto connect = [&](std::uint32_t connection_generation, std::uint32_t probes) {
    on({.kind = K::connect_begun, .connection_generation = connection_generation});
    on({.kind = K::joined, .probes = probes});
  };
  const auto fail = [&] {
    on({.kind = K::fail, .reason = PathReason::completion_error});
    on({.kind = K::marker_posted});
  };
  const auto drain = [&](std::uint32_t received, std::uint32_t sent) {
    on({.kind = K::drained, .received = received, .sent = sent});
  };
  const auto close = [&](State until) {
    Event event{.kind = K::close,
                .connection_generation = 5,
                .received = 9,
                .sent = 3,
                .own_received = 3,
                .own_sent = 9};
    on(event);
    if (until == State::closing) return;
    event.kind = K::peer_closes;
    event.flushed = until != State::emptying;
    on(event);
    if (until != State::parked) return;
    event.kind = K::fence_answer;
    on(event);
  };
  switch (state) {
    case State::closed:
      break;
    case State::connecting:
      on({.kind = K::want});
      on({.kind = K::connect_begun, .connection_generation = 5});
      break;
    case State::accepted:
      on({.kind = K::request, .connection_generation = 5});
      on({.kind = K::accepted, .connection_generation = 5});
      break;
    case State::probing:
      on({.kind = K::want});
      connect(4, 0);
      fail();
      drain(0, 0);
      on({.kind = K::fence_sent});
      on({.kind = K::fence_answer, .connection_generation = 4});
      now = machine_.due();
      on({.kind = K::look});
      connect(5, 2);
      break;
    case State::ready:
    case State::suspected:
    case State::stopping:
    case State::answering:
    case State::fencing:
    case State::failed:
    case State::asking:
    case State::closing:
    case State::emptying:
    case State::parting:
    case State::parked:
      on({.kind = K::want});
      connect(5, 0);
      if (is_closed_on_purpose(state)) {
        close(state);
        break;
      }
      if (state == State::ready) break;
      if (state == State::suspected) {
        on({.kind = K::suspect});
        on({.kind = K::test_pending});
        break;
      }
      if (state == State::answering) {
        on({.kind = K::fence, .connection_generation = 5, .received = 7});
        on({.kind = K::marker_posted});
        break;
      }
      fail();
      if (state == State::stopping) break;
      drain(3, 9);
      on({.kind = K::fence_sent});
      if (state == State::fencing) break;
      on({.kind = K::fence_answer, .connection_generation = 5, .received = 9});
      if (state == State::failed) break;
      now = machine_.due();
      on({.kind = K::look});
      break;
  }
  EXPECT_EQ(machine_.state(), state);
  machine_.check_invariants();
}

std::string Machine::effect(const Event& event) {
  const State before = machine_.state();
  const SubchannelActions actions = machine_.on(event, now);
  return text_of(actions, before, machine_.state());
}

std::map<std::pair<State, EventKind>, bool> rows_with_effect() {
  std::map<std::pair<State, EventKind>, bool> rows;
  for (const Row& row : table())
    for (const auto& [state, effect] : row.effects)
      if (row.reports || (!effect.empty() && effect != "stale")) rows[{state, row.event.kind}] = false;
  return rows;
}

}  // namespace hawser::machine_test
