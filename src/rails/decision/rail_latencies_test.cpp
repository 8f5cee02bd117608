#include "rails/decision/rail_latencies.h"

#include <gtest/gtest.h>

#include "base/function_ref.h"

namespace hawser {
namespace {

// Packets are done until rails are to be timed, at most so many: after how many; -1: they are not.
std::int64_t wait_for_look(RailLatencies& latencies, Nanoseconds now, std::int64_t most = 100'000) {
  for (std::int64_t packets = 1; packets <= most; ++packets) {
    latencies.count_done();
    if (latencies.wants_look() && latencies.begin_look(now)) return packets;
  }
  return -1;
}

// A packet on each rail that is wanted, which `done` tells of; how many.
int on_wanted(RailLatencies& latencies, FunctionRef<void(std::size_t)> done) {
  int wanted = 0;
  for (const std::size_t rail : {std::size_t{0}, std::size_t{1}}) {
    if (!latencies.lacks(rail)) continue;
    latencies.on_posted(rail);
    done(rail);
    ++wanted;
  }
  return wanted;
}

// Of these times.
void look(RailLatencies& latencies, Nanoseconds first, Nanoseconds second) {
  on_wanted(latencies, [&](std::size_t rail) {
    const Nanoseconds time = rail == 0 ? first : second;
    EXPECT_TRUE(latencies.on_done(rail, time - 100, time));
  });
}

struct TwoRails : RailLatencies {
  TwoRails() {
    add_rail();
    add_rail();
  }
};

// Three times each.
TwoRails known(Nanoseconds first, Nanoseconds second) {
  TwoRails latencies;
  for (int i = 0; i < 3; ++i) {
    EXPECT_GE(wait_for_look(latencies, 0), 0);
    look(latencies, first, second);
  }
  return latencies;
}

// What the program sends anyway tells.
TEST(RailLatencies, NoPacketGoesOutToTimeARailAlone) {
  RailLatencies latencies;
  latencies.add_rail();
  EXPECT_TRUE(latencies.lacks(0));
  for (const Nanoseconds time : {7000, 4000, 5000}) {
    EXPECT_EQ(latencies.least_round_trip(), 0);
    EXPECT_TRUE(latencies.on_done(0, time - 100, time));
  }
  EXPECT_EQ(latencies.least_round_trip(), 4000);
  EXPECT_FALSE(latencies.lacks(0));
  EXPECT_EQ(wait_for_look(latencies, second), -1);
  EXPECT_TRUE(latencies.lacks(0)) << "now and then";
  EXPECT_TRUE(latencies.on_done(0, 4900, 5000));
  EXPECT_FALSE(latencies.lacks(0));
  latencies.forget(0);
  EXPECT_EQ(latencies.least_round_trip(), 0);
  for (int tries = 0; tries < 6; ++tries) {
    EXPECT_TRUE(latencies.lacks(0));
    latencies.on_posted(0);
    EXPECT_FALSE(latencies.on_done(0, 2000, 4000));
  }
  EXPECT_FALSE(latencies.lacks(0)) << "who computes is left alone";
}

TEST(RailLatencies, TheLeastOfThreeCounts) {
  TwoRails latencies;
  EXPECT_EQ(wait_for_look(latencies, 0), 64);
  look(latencies, 4000, 9000);
  EXPECT_EQ(wait_for_look(latencies, 0), 8);
  look(latencies, 7000, 8000);
  EXPECT_EQ(latencies.round_trip(0), 0);
  EXPECT_EQ(latencies.least_round_trip(), 0);
  EXPECT_EQ(wait_for_look(latencies, 0), 8);
  look(latencies, 5000, 9500);
  EXPECT_EQ(latencies.round_trip(0), 4000);
  EXPECT_EQ(latencies.least_round_trip(), 4000);
  EXPECT_EQ(latencies.round_trip(1), 8000);
}

TEST(RailLatencies, RailsThatAreKnownAreTimedSeldom) {
  TwoRails latencies = known(4000, 4000);
  Nanoseconds now = 0;
  EXPECT_EQ(wait_for_look(latencies, now, 8), -1) << "the end of the series";
  EXPECT_EQ(wait_for_look(latencies, second - 1), -1);
  // Three that are slower, one a series, take the place of those that were known.
  std::int64_t between = 0;
  for (int i = 0; i < 3; ++i) {
    now += 2 * second;
    const std::int64_t packets = wait_for_look(latencies, now);
    EXPECT_GE(packets, i == 0 ? 0 : between);
    between = packets;
    EXPECT_EQ(latencies.round_trip(0), 4000);
    look(latencies, 6000, 4000);
    EXPECT_EQ(wait_for_look(latencies, now, 8), -1);
  }
  EXPECT_EQ(latencies.round_trip(0), 6000);
  EXPECT_EQ(latencies.round_trip(1), 4000);
}

// What came beside a packet may be all that made it late.
TEST(RailLatencies, ARailIsFartherOnlyIfItsPacketsWereNotDelayed) {
  for (const Nanoseconds delayed : {Nanoseconds{0}, Nanoseconds{2000}, Nanoseconds{5000}}) {
    TwoRails latencies;
    for (int i = 0; i < 3; ++i) {
      ASSERT_GE(wait_for_look(latencies, 0), 0);
      latencies.on_posted(0);
      latencies.on_posted(1);
      EXPECT_TRUE(latencies.on_done(0, 4000, 4000, 4000)) << "at most, which is known well";
      EXPECT_TRUE(latencies.on_done(1, 9000, 9000, delayed));
    }
    EXPECT_EQ(latencies.differ(), delayed < 5000);
    EXPECT_EQ(latencies.farther(1), delayed < 5000 ? 2500 : 0);
    EXPECT_EQ(latencies.least_detour(), delayed < 5000 ? 2500 : never);
  }
}

TEST(RailLatencies, ARailIsNotFartherIfOneOfItsPacketsTookNoLonger) {
  TwoRails latencies;
  for (const Nanoseconds time : {9000, 4500, 9000}) {
    ASSERT_GE(wait_for_look(latencies, 0), 0);
    look(latencies, 4000, time);
  }
  EXPECT_FALSE(latencies.differ());
  EXPECT_EQ(latencies.farther(1), 0);
}

TEST(RailLatencies, TimesThatAreHardlyKnownAreNoSamples) {
  TwoRails latencies;
  int posted = 0;
  for (int looks = 0; looks < 24 && posted < 12; ++looks) {
    ASSERT_LE(wait_for_look(latencies, 0), looks == 0 ? 64 : 8);
    posted += on_wanted(
        latencies, [&latencies](std::size_t rail) { EXPECT_FALSE(latencies.on_done(rail, 2000, 4000)); });
  }
  EXPECT_EQ(posted, 12) << "who computes is left alone after some tries";
  EXPECT_EQ(latencies.round_trip(0), 0);
  EXPECT_GE(wait_for_look(latencies, 0), 100) << "for long, however early it is";
}

TEST(RailLatencies, RailsThatAreAlwaysBusyAreGivenUpForLong) {
  TwoRails latencies;
  int looks = 0;
  while (wait_for_look(latencies, 0) <= 64) {
    ASSERT_LT(++looks, 100);
  }
  EXPECT_EQ(looks, 24);
}

TEST(RailLatencies, AConnectionThatIsMadeAnewIsTimedAgain) {
  TwoRails latencies = known(4000, 4000);
  latencies.forget(1);
  EXPECT_EQ(latencies.round_trip(0), 4000);
  EXPECT_EQ(latencies.round_trip(1), 0);
  EXPECT_EQ(latencies.least_round_trip(), 0) << "the one that is not known may be the nearer";
  EXPECT_EQ(wait_for_look(latencies, 0), 64);
  EXPECT_TRUE(latencies.lacks(1));
}

TEST(RailLatencies, RailsWithinAQuarterCountAsAlike) {
  const TwoRails latencies = known(4000, 5000);
  EXPECT_FALSE(latencies.differ());
  EXPECT_EQ(latencies.farther(0), 0);
  EXPECT_EQ(latencies.farther(1), 0);
}

TEST(RailLatencies, AFartherRailIsFartherByHalfOfWhatItTakesLonger) {
  TwoRails latencies = known(9000, 5000);
  EXPECT_TRUE(latencies.differ());
  EXPECT_EQ(latencies.farther(0), 2000);
  EXPECT_EQ(latencies.farther(1), 0);
  latencies.forget(1);
  EXPECT_FALSE(latencies.differ()) << "with what?";
}

// A link that was slow may be well again.
TEST(RailLatencies, RailsThatDifferAreTimedMoreOften) {
  TwoRails latencies = known(9000, 5000);
  EXPECT_EQ(wait_for_look(latencies, 0, 8), -1) << "the end of the series";
  EXPECT_EQ(wait_for_look(latencies, 10 * millisecond - 1), -1);
  EXPECT_LE(wait_for_look(latencies, 10 * millisecond), 1024);
  look(latencies, 5000, 5000);
  EXPECT_FALSE(latencies.differ());
}

}  // namespace
}  // namespace hawser
