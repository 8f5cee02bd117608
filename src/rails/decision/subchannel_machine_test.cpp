// The subchannel machine follows its table (subchannel_table_test.cpp), and what the table cannot show: time.
#include "rails/decision/subchannel_machine.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <set>

#include "rails/decision/subchannel_machine_test_support.h"

namespace hawser::machine_test {
namespace {

// Answers an action that reports back, as the executor does.
void report(SubchannelMachine& machine, const SubchannelActions& actions, Nanoseconds now) {
  const auto on = [&](const Event& event) { report(machine, machine.on(event, now), now); };
  for (const SubchannelAction& action : actions) {
    if (action.kind == Do::connect) on({.kind = EventKind::connect_begun, .connection_generation = 1});
    if (action.kind == Do::test) on({.kind = EventKind::test_pending});
    if (action.kind == Do::send_fence) on({.kind = EventKind::fence_sent});
    if (action.kind == Do::stop) on({.kind = EventKind::marker_posted});
    if (action.kind == Do::send_probes && machine.probes_to_send() > 0)
      on({.kind = EventKind::probes_posted, .probes = 1});
    if (action.kind == Do::poll) on({.kind = EventKind::drained, .sent = 9, .timed_out = true});
  }
}

TEST(SubchannelMachine, DoesWhatTheTableSays) {
  std::set<EventKind> kinds;
  for (const Row& row : table()) {
    kinds.insert(row.event.kind);
    for (const State state : all_states) {
      const auto effect = row.effects.find(state);
      if (row.reports && effect == row.effects.end()) continue;
      SCOPED_TRACE(fmt::format("{} in {}", row.name, subchannel_state_name(state)));
      Machine machine(state);
      const SubchannelActions actions = machine->on(row.event, machine.now);
      EXPECT_EQ(text_of(actions, state, machine->state()), effect == row.effects.end() ? "" : effect->second);
      report(*machine, actions, machine.now);
      machine->check_invariants();
    }
  }
  EXPECT_EQ(kinds.size(), static_cast<std::size_t>(subchannel_events)) << "an event has no row";
}

TEST(SubchannelMachine, TakesReportsOnlyOfWhatItAskedFor) {
  GTEST_FLAG_SET(death_test_style, "fast");
  for (const Row& row : table()) {
    if (!row.reports) continue;
    for (const State state : all_states) {
      if (row.effects.contains(state)) continue;
      SCOPED_TRACE(fmt::format("{} in {}", row.name, subchannel_state_name(state)));
      Machine machine(state);
      EXPECT_DEATH(static_cast<void>(machine->on(row.event, machine.now)), "assertion failed");
    }
  }
}

// What the table does not show: a state's time is up.
TEST(SubchannelMachine, ActsWhenTheTimeIsUp) {
  const std::map<State, std::string> effects = {{State::accepted, given_up + " -> failed"},
                                                {State::probing, down("probe_failed", "probing", "stopping")},
                                                {State::suspected, "test"},
                                                {State::stopping, "poll"},
                                                {State::answering, "poll"},
                                                {State::fencing, "send_fence(5:3,1)"},
                                                {State::failed, "connect"},
                                                {State::asking, "ask_address -> failed"},
                                                {State::closing, ""},
                                                {State::emptying, ""},
                                                {State::parting, "send_parted(5:3,9,1)"}};
  for (const State state : all_states) {
    SCOPED_TRACE(subchannel_state_name(state));
    Machine machine(state);
    EXPECT_EQ(machine->due() == never, !effects.contains(state));
    if (machine->due() == never) continue;
    machine.now = machine->due();
    const SubchannelActions actions = machine->on({.kind = EventKind::look}, machine.now);
    EXPECT_EQ(text_of(actions, state, machine->state()), effects.at(state));
    report(*machine, actions, machine.now);
    machine->check_invariants();
    // A failed one may be tried again at once; nothing else is due again in the same moment.
    EXPECT_TRUE(machine->due() > machine.now ||
                (state == State::answering && machine->state() == State::failed));
  }
}

TEST(SubchannelMachine, FailsAtTheNextLookWhatWasPostedInPart) {
  for (const State state :
       {State::accepted, State::probing, State::ready, State::suspected, State::closing, State::emptying}) {
    SCOPED_TRACE(subchannel_state_name(state));
    Machine machine(state);
    EXPECT_TRUE(machine->on({.kind = EventKind::post_failed}, machine.now).run_soon);
    EXPECT_TRUE(machine->broken());
    EXPECT_FALSE(machine->quiescent());
    EXPECT_EQ(machine.effect({.kind = EventKind::look}), fails("completion_error").at(state));
  }
}

TEST(SubchannelMachine, TheOtherEndAsksForAnAttempt) {
  Machine machine(State::failed, false);
  machine.now = machine->due();
  EXPECT_EQ(machine.effect({.kind = EventKind::look}), "reconnect_request(1) -> asking");
  EXPECT_EQ(machine->due(), machine.now + SubchannelTimes::reconnect_request_time);
}

TEST(SubchannelMachine, ProbesBeforeItIsReady) {
  Machine machine(State::probing);
  EXPECT_EQ(machine->probes_to_send(), 2u);
  EXPECT_TRUE(machine->on({.kind = EventKind::probes_posted, .probes = 1}, machine.now).empty());
  EXPECT_EQ(machine.effect({.kind = EventKind::probe_answer}), "send_probes");
  // An answer to nothing counts for nothing.
  EXPECT_EQ(machine.effect({.kind = EventKind::probe_answer}), "stale");
  EXPECT_TRUE(machine->on({.kind = EventKind::probes_posted, .probes = 1}, machine.now).empty());
  EXPECT_EQ(machine.effect({.kind = EventKind::probe_answer}), "enter_service(recovery) -> ready");
  machine->check_invariants();
}

TEST(SubchannelMachine, FencesLessAndLessOftenUntilAPortReturns) {
  Machine machine(State::fencing);
  Nanoseconds pause = 0;
  for (std::uint32_t turn = 1; turn < 20; ++turn) {
    machine.now = machine->due();
    const SubchannelActions actions = machine->on({.kind = EventKind::look}, machine.now);
    const bool asks = turn % SubchannelTimes::fences_per_question == SubchannelTimes::fences_per_question - 1;
    EXPECT_EQ(text_of(actions, State::fencing, machine->state()),
              fmt::format("send_fence(5:3,{}){}", turn, asks ? " ask_address" : ""));
    report(*machine, actions, machine.now);
    EXPECT_GE((machine->due() - machine.now) * 5 / 4, pause);
    pause = machine->due() - machine.now;
    EXPECT_LE(pause, SubchannelTimes::longest_fence_repeat * 5 / 4);
  }
  EXPECT_TRUE(machine->on({.kind = EventKind::port_returned}, machine.now).run_soon);
  EXPECT_EQ(machine->due(), machine.now);
  EXPECT_EQ(machine.effect({.kind = EventKind::look}), "send_fence(5:3,0)");
}

// The adapter may have died with what it acknowledged.
TEST(SubchannelMachine, FailsWhenWhatThePeerSentDoesNotCome) {
  Machine machine(State::emptying);
  const Nanoseconds begin = machine.now;
  const Event look{.kind = EventKind::look, .flushed = true, .own_received = 2, .own_sent = 9};
  while (machine->state() == State::emptying) {
    machine.now = machine->due();
    ASSERT_LE(machine.now, begin + 2 * SubchannelTimes::emptying_patience);
    static_cast<void>(machine->on(look, machine.now));
  }
  EXPECT_EQ(machine->state(), State::stopping);
  EXPECT_GE(machine.now, begin + SubchannelTimes::emptying_patience);
}

// What failed and was not needed any more is tried again only when it is needed, and has to prove itself.
TEST(SubchannelMachine, ProvesItselfAfterItRestedFailed) {
  Machine machine(State::failed);
  static_cast<void>(machine->on({.kind = EventKind::close}, machine.now));
  ASSERT_EQ(machine->state(), State::parked);
  EXPECT_EQ(machine->due(), never);
  EXPECT_EQ(machine.effect({.kind = EventKind::want}), "connect");
  static_cast<void>(machine->on({.kind = EventKind::connect_begun}, machine.now));
  static_cast<void>(machine->on({.kind = EventKind::joined, .probes = 2}, machine.now));
  EXPECT_EQ(machine->state(), State::probing);
  machine->check_invariants();
}

TEST(SubchannelMachine, GivesMoreTimeAfterEachFailureOfACrowdedNetwork) {
  SubchannelSettings settings;
  HealthSettings health;
  Random random(1);
  SubchannelMachine machine(settings, health, random, true);
  Nanoseconds now = 0;
  const auto on = [&](const Event& event) { static_cast<void>(machine.on(event, now)); };
  const auto fail = [&](PathReason reason, bool quick) {
    on({.kind = EventKind::connect_begun});
    on({.kind = EventKind::joined});
    on({.kind = EventKind::fail, .reason = reason, .quick = quick});
    on({.kind = EventKind::drained});
    on({.kind = EventKind::fence_answer, .connection_generation = machine.connection_generation()});
    now = machine.due();
    on({.kind = EventKind::look});
    return machine.false_alarms();
  };
  EXPECT_EQ(fail(PathReason::watchdog, false), 1);
  EXPECT_EQ(fail(PathReason::completion_error, false), 2);
  EXPECT_EQ(fail(PathReason::peer_asked, false), 3);
  EXPECT_EQ(fail(PathReason::probe_failed, false), SubchannelTimes::most_false_alarms);
  EXPECT_EQ(fail(PathReason::watchdog, true), 0);
  EXPECT_EQ(fail(PathReason::watchdog, false), 1);
  EXPECT_EQ(fail(PathReason::port_down, false), 0);
}

TEST(SubchannelMachine, LosesThePeerWhereFailoverIsOff) {
  const SubchannelSettings settings{.failover = false};
  HealthSettings health;
  Random random(1);
  SubchannelMachine machine(settings, health, random, true);
  static_cast<void>(machine.on({.kind = EventKind::connect_begun}, 0));
  static_cast<void>(machine.on({.kind = EventKind::joined}, 0));
  const SubchannelActions actions = machine.on({.kind = EventKind::fail, .reason = PathReason::port_down}, 0);
  EXPECT_EQ(text_of(actions, State::ready, machine.state()), "lose_peer(port_down)");
}

// An attempt gave way to the peer's request, which then could not be accepted: nobody would have tried again.
TEST(SubchannelMachine, TriesAgainWhenItGaveWayForNothing) {
  Machine machine(State::failed);
  machine.now = machine->due();
  static_cast<void>(machine->on({.kind = EventKind::look}, machine.now));
  static_cast<void>(machine->on({.kind = EventKind::connect_begun}, machine.now));
  const Event gave_way{.kind = EventKind::abandoned,
                       .connection_generation = machine->connection_generation()};
  EXPECT_EQ(machine.effect(gave_way), dropped + " -> failed");
  machine->check_invariants();
  EXPECT_NE(machine->due(), never);
}

// Whatever peers, networks and processes do, in whatever order: no assertion, and the invariants hold.
TEST(SubchannelMachine, BearsWhateverComes) {
  Random random(7);
  std::vector<const Row*> rows;
  for (const Row& row : table())
    if (!row.reports) rows.push_back(&row);
  for (int run = 0; run < 300; ++run) {
    Machine machine(all_states[random.below(subchannel_states)], random.chance(0.5));
    for (int i = 0; i < 300; ++i) {
      machine.now += static_cast<Nanoseconds>(random.below(20 * millisecond));
      Event event = rows[random.below(rows.size())]->event;
      event.connection_generation =
          machine->connection_generation() + static_cast<std::uint32_t>(random.below(4)) - 2;
      event.received = static_cast<std::uint32_t>(random.below(12));
      // What the peer's request asked for comes with its generation, and is newer.
      const bool request = event.kind == EventKind::request;
      const SubchannelActions actions = machine->on(event, machine.now);
      report(*machine, actions, machine.now);
      if (request && !actions.empty() && random.chance(0.8))
        static_cast<void>(
            machine->on({.kind = random.chance(0.8) ? EventKind::accepted : EventKind::accept_failed,
                         .connection_generation = event.connection_generation},
                        machine.now));
      if (machine->state() == State::connecting && random.chance(0.5))
        report(*machine, machine->on({.kind = EventKind::joined, .probes = 2}, machine.now), machine.now);
      machine->check_invariants();
    }
  }
}

}  // namespace
}  // namespace hawser::machine_test
