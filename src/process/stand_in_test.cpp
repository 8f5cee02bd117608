#include "process/stand_in.h"

#include <gtest/gtest.h>

namespace hawser {
namespace {

// Interrupts that find the program in a call of MPI.
void interrupt_in_vain(StandIn& state, int times, Nanoseconds now) {
  for (int i = 0; i < times; ++i) {
    state.on_interrupt();
    state.on_inside(true, now, true);
  }
}

TEST(StandIn, ArmsForWhatIsExpected) {
  StandIn state;
  EXPECT_FALSE(state.armed());
  EXPECT_TRUE(state.expect(0));
  EXPECT_TRUE(state.armed());
  state.on_interrupt();
  EXPECT_FALSE(state.armed());
  state.on_turn(true, false);
  EXPECT_TRUE(state.armed());
}

TEST(StandIn, InterruptsInVainBecomeRare) {
  StandIn state;
  int armed = 0;
  // A program that receives a large message every 10 us, and waits for each of them in a call.
  for (Nanoseconds now = 0; now < second; now += 10 * microsecond) {
    if (state.armed() || !state.expect(now)) continue;
    ++armed;
    interrupt_in_vain(state, 1, now);
  }
  EXPECT_GT(armed, 400);
  EXPECT_LT(armed, 600);
}

TEST(StandIn, OneThatWasOfUseMakesThemFrequent) {
  StandIn state;
  interrupt_in_vain(state, 100, 0);
  EXPECT_FALSE(state.expect(1 * millisecond));
  EXPECT_TRUE(state.expect(3 * millisecond));
  state.on_interrupt();
  state.on_turn(true, true);
  state.on_interrupt();
  interrupt_in_vain(state, 3, 3 * millisecond);
  EXPECT_TRUE(state.expect(3 * millisecond)) << "some in vain are chance";
}

TEST(StandIn, StaysAwayForLongerTheOftenerItComesInVain) {
  StandIn state;
  EXPECT_EQ(state.on_inside(false, 0, false), StandIn::shortest_rest);
  EXPECT_EQ(state.on_inside(false, 0, false), 2 * StandIn::shortest_rest);
  EXPECT_FALSE(state.often_in_vain());
  for (int i = 0; i < 20; ++i) state.on_inside(false, 0, false);
  EXPECT_EQ(state.on_inside(false, 0, false), StandIn::longest_rest);
  EXPECT_TRUE(state.often_in_vain());
  state.on_turn(true, false);
  EXPECT_EQ(state.on_inside(false, 0, false), StandIn::longest_rest) << "nothing was there to be done";
  state.on_turn(true, true);
  EXPECT_EQ(state.on_inside(false, 0, false), StandIn::shortest_rest);
}

// --- Whether the program computes

constexpr Nanoseconds round_time = 200 * microsecond;

// Something is begun every round, and waited for so much later.
void run(StandIn& state, Nanoseconds& now, Nanoseconds computing, int rounds) {
  for (int i = 0; i < rounds; ++i, now += round_time) {
    state.on_begun(now);
    ASSERT_TRUE(state.begun());
    state.on_awaited(now + computing);
    ASSERT_FALSE(state.begun());
  }
}

TEST(StandIn, AProgramThatWaitsAtOnceIsLeftAlone) {
  StandIn state;
  Nanoseconds now = 0;
  EXPECT_TRUE(state.computes() && state.computes_long()) << "until it is seen";
  EXPECT_TRUE(state.expect(now));
  run(state, now, microsecond, 10);
  EXPECT_FALSE(state.computes() || state.computes_long() || state.armed());
  // What is still armed comes once.
  EXPECT_FALSE(state.on_outside(true, now));
  EXPECT_EQ(state.interrupts_useless(), 1);
}

TEST(StandIn, OneComputationIsEnoughToGoBack) {
  StandIn state;
  Nanoseconds now = 0;
  run(state, now, microsecond, 10);
  run(state, now, 100 * microsecond, 1);
  EXPECT_TRUE(state.computes());
  EXPECT_FALSE(state.computes_long()) << "too short for small messages";
  run(state, now, microsecond, 3);
  EXPECT_TRUE(state.computes()) << "now and then is enough";
  run(state, now, millisecond, 1);
  EXPECT_TRUE(state.computes_long());
}

TEST(StandIn, ALookThatFindsItComputingIsEnoughForOneTime) {
  StandIn state;
  Nanoseconds now = 0;
  run(state, now, microsecond, 10);
  EXPECT_TRUE(state.on_outside(false, now) && state.looks());
  EXPECT_TRUE(state.computes() && state.computes_long());
  EXPECT_TRUE(state.on_outside(true, now));
  EXPECT_FALSE(state.looks());
  run(state, now, microsecond, 1);
  EXPECT_FALSE(state.computes() || state.computes_long());
  // It is there again because something was due.
  EXPECT_TRUE(state.on_outside(false, now));
  EXPECT_FALSE(state.looks() || state.computes() || state.computes_long());
  EXPECT_TRUE(state.on_outside(false, now + StandIn::longest_rest) && state.looks());
  EXPECT_TRUE(state.computes());
}

// Its waits find everything complete, and nobody asks for the time.
TEST(StandIn, SeesThatItComputesLittleThoughTurnsCompleteAll) {
  StandIn state;
  Nanoseconds now = 0;
  for (int i = 0; i < 10; ++i, now += round_time) {
    state.on_begun(now);
    state.on_interrupt();
    state.on_turn(true, true);
  }
  EXPECT_TRUE(state.computes()) << "it may have, for the whole round";
  EXPECT_FALSE(state.computes_long());
}

TEST(StandIn, CountsFromTheFirstThatWasBegun) {
  StandIn state;
  Nanoseconds now = 0;
  run(state, now, microsecond, 10);
  state.on_begun(now);
  state.on_begun(now + millisecond);
  state.on_awaited(now + millisecond + 1);
  EXPECT_TRUE(state.computes_long());
}

TEST(StandIn, LooksSoonerWhereOthersNeedAnswers) {
  StandIn state;
  state.note_answers_wanted();
  Nanoseconds now = 0;
  run(state, now, microsecond, 10);
  EXPECT_EQ(state.on_inside(false, now, true), StandIn::rest_before_answers);
  EXPECT_FALSE(state.on_outside(true, now)) << "it is not seen to compute yet";
  now += StandIn::rest_before_answers;
  EXPECT_TRUE(state.on_outside(false, now) && state.looks());
  EXPECT_TRUE(state.on_outside(true, now)) << "an interrupt is answered from now on";
}

TEST(StandIn, LeavesItToInterruptsWhereTheCallArms) {
  StandIn state;
  EXPECT_EQ(state.on_inside(true, 0, true), StandIn::longest_rest);
  EXPECT_FALSE(state.often_in_vain());
}

}  // namespace
}  // namespace hawser
