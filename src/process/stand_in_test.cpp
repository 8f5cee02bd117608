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

TEST(StandIn, LeavesItToInterruptsWhereTheCallArms) {
  StandIn state;
  EXPECT_EQ(state.on_inside(true, 0, true), StandIn::longest_rest);
  EXPECT_FALSE(state.often_in_vain());
}

}  // namespace
}  // namespace hawser
