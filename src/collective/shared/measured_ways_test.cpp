// What is chosen, how soon, and what measuring costs.
#include "collective/shared/measured_ways.h"

#include <gtest/gtest.h>

#include <functional>

namespace hawser {
namespace {

constexpr WaySet three = set_of(Way::area, Way::messages, Way::direct);

struct Played {
  std::uint64_t time = 0;
  Way last = Way::area;
};

// `operations` of which each takes what `cost` says of its way and number.
Played play(MeasuredWays& ways, int operations, const std::function<std::uint64_t(Way, int)>& cost) {
  Played played;
  for (int i = 0; i < operations; ++i) {
    const MeasuredWays::Turn turn = ways.next();
    const std::uint64_t took = cost(turn.way, i);
    played.time += took;
    played.last = turn.way;
    if (turn.timed) ways.record(took);
  }
  return played;
}

TEST(MeasuredWays, TheFastestIsChosenWithinFortyOperations) {
  for (const Way fastest : {Way::area, Way::messages, Way::direct}) {
    MeasuredWays ways(three);
    const auto cost = [fastest](Way way, int) -> std::uint64_t { return way == fastest ? 1000 : 1900; };
    play(ways, 40, cost);
    EXPECT_EQ(ways.current(), fastest);
  }
}

TEST(MeasuredWays, MeasuringCostsLittle) {
  for (const std::uint64_t slow : {1100U, 2000U, 10000U}) {
    MeasuredWays ways(three);
    const auto cost = [slow](Way way, int) -> std::uint64_t { return way == Way::area ? 1000 : slow; };
    play(ways, 1000, cost);
    const Played played = play(ways, 20000, cost);
    EXPECT_EQ(ways.current(), Way::area);
    EXPECT_LT(static_cast<double>(played.time), 20000 * 1000 * 1.01) << slow;
  }
}

TEST(MeasuredWays, WhatChangesIsNoticed) {
  MeasuredWays ways(three);
  play(ways, 300, [](Way way, int) -> std::uint64_t { return way == Way::direct ? 1000 : 2000; });
  EXPECT_EQ(ways.current(), Way::direct);
  play(ways, 600, [](Way way, int) -> std::uint64_t { return way == Way::messages ? 1000 : 2000; });
  EXPECT_EQ(ways.current(), Way::messages);
}

// One measurement in which somebody else had the core, and differences of a few percent, change nothing.
TEST(MeasuredWays, NoiseChangesNothing) {
  MeasuredWays ways(three);
  const auto cost = [](Way way, int i) -> std::uint64_t {
    return (way == Way::messages ? 980U : 1000U) + (i % 7 == 0 ? 50000U : 0U);
  };
  play(ways, 5000, cost);
  EXPECT_EQ(ways.current(), Way::area);
}

TEST(MeasuredWays, WhatCannotBeGoneIsNotTriedAgain) {
  MeasuredWays ways(three);
  int tried = 0;
  for (int i = 0; i < 5000; ++i) {
    const MeasuredWays::Turn turn = ways.next();
    if (turn.way == Way::direct) {
      ++tried;
      ways.exclude(turn.way);
    }
    if (turn.timed) ways.record(turn.way == Way::direct ? 1 : 1000);
  }
  EXPECT_EQ(tried, 1);
  EXPECT_EQ(ways.current(), Way::area);
}

TEST(MeasuredWays, AWayThatStopsWorkingGivesWay) {
  MeasuredWays ways(three);
  const auto cost = [](Way way, int) -> std::uint64_t { return way == Way::direct ? 1000 : 2000; };
  play(ways, 40, cost);
  ASSERT_EQ(ways.current(), Way::direct);
  ways.exclude(Way::direct);
  EXPECT_EQ(ways.current(), Way::area);
  EXPECT_NE(play(ways, 300, cost).last, Way::direct);
}

TEST(TeamWays, SmallDataAndSomeOperationsHaveNothingToChoose) {
  TeamWays ways(TeamWays::Policy::measure, 4, false);
  EXPECT_EQ(ways.find(Collective::alltoall, 1024), nullptr);
  EXPECT_EQ(ways.find(Collective::broadcast, 1 << 20), nullptr);
  EXPECT_NE(TeamWays(TeamWays::Policy::measure, 2, false).find(Collective::broadcast, 1 << 20), nullptr);
  EXPECT_EQ(TeamWays(TeamWays::Policy::measure, 4, true).find(Collective::reduce, 1 << 20), nullptr);
  EXPECT_EQ(ways.find(Collective::barrier, 0), nullptr);
  MeasuredWays* const large = ways.find(Collective::alltoall, 1 << 20);
  ASSERT_NE(large, nullptr);
  EXPECT_EQ(ways.find(Collective::alltoall, (1 << 20) + 1000), large);
  EXPECT_NE(ways.find(Collective::alltoall, 1 << 16), large);
}

TEST(TeamWays, OneWayMayBeForced) {
  EXPECT_EQ(TeamWays(TeamWays::Policy::area, 4, false).current(Collective::alltoall, 1 << 20), Way::area);
  EXPECT_EQ(TeamWays(TeamWays::Policy::other, 4, false).current(Collective::alltoall, 1 << 20), Way::direct);
  EXPECT_EQ(TeamWays(TeamWays::Policy::other, 8, false).current(Collective::reduce, 1 << 20), Way::shares);
  EXPECT_EQ(TeamWays(TeamWays::Policy::other, 4, false).current(Collective::gather, 1 << 20), Way::area);
}

}  // namespace
}  // namespace hawser
