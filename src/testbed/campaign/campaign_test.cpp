// The campaign itself: seeds are what they were, and faults are reached. That it finds something:
// mutants_test.cpp.
#include "testbed/campaign/campaign.h"

#include <gtest/gtest.h>

#include <set>

namespace hawser {
namespace {

TEST(Campaign, ASeedIsAScenario) {
  const ScenarioWishes any;
  std::set<std::string> scenarios;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const Scenario scenario = draw_scenario(seed, any);
    EXPECT_EQ(scenario.describe(), draw_scenario(seed, any).describe());
    scenarios.insert(scenario.describe());
    EXPECT_GE(scenario.simulation.ranks, 2);
    EXPECT_LE(scenario.simulation.ranks, 64);
    for (const Incident& incident : scenario.simulation.fabric->incidents) EXPECT_GT(incident.lasts, 0);
  }
  EXPECT_EQ(scenarios.size(), 100u);
}

TEST(Campaign, WishesAreGranted) {
  const Scenario scenario = draw_scenario(3, {.ranks = 12, .faults = false});
  EXPECT_EQ(scenario.simulation.ranks, 12);
  EXPECT_TRUE(scenario.simulation.fabric->incidents.empty());
}

TEST(Campaign, ASeedHasOneTrace) {
  for (std::uint64_t seed = 101; seed <= 120; ++seed) {
    const SeedVerdict first = run_seed(seed, {}), second = run_seed(seed, {});
    EXPECT_TRUE(first.good()) << "seed " << seed << ": " << first.complaint;
    EXPECT_EQ(first.outcome.trace_hash, second.outcome.trace_hash) << seed;
    EXPECT_EQ(first.outcome.virtual_time, second.outcome.virtual_time) << seed;
  }
}

// Seeds of the calm campaign on which the library once took a crowded network for a failed one.
class CalmSeed : public testing::TestWithParam<std::uint64_t> {};

TEST_P(CalmSeed, IsNotTakenForAFailure) {
  SeedOptions options;
  options.wishes.calm = true;
  const SeedVerdict verdict = run_seed(GetParam(), options);
  EXPECT_TRUE(verdict.good()) << verdict.complaint;
}
// Each to many; writes over one path; a path that recovers late.
INSTANTIATE_TEST_SUITE_P(AdaptersWereImpatient, CalmSeed,
                         testing::Values(263, 327, 533, 785, 795, 1011, 1218, 2528, 2703, 3705));
// A peer asked for connections or had some, and computes: fences filled its receive queue, and connections
// that were accepted failed.
INSTANTIATE_TEST_SUITE_P(ARankStopped, CalmSeed, testing::Values(97, 5037));
// Paths that had been quick for tiny packets, or alone, and then shared a link of 1 MB/s with many.
INSTANTIATE_TEST_SUITE_P(SuddenlyCrowded, CalmSeed, testing::Values(72818, 80706));
// Eager messages from 30 to 128 processes to one, over links of 1 to 2 MB/s.
INSTANTIATE_TEST_SUITE_P(EagerIncast, CalmSeed, testing::Values(5888, 9082, 11918, 18104, 27122, 28286));

// No more memory could be locked, and puts held all packet buffers until the peer had their bytes: a probe
// could not be answered, and the connection never came back.
TEST(Campaign, PutsLeaveBuffersToRecoverWith) {
  const SeedVerdict verdict = run_seed(37830, {});
  EXPECT_TRUE(verdict.good()) << verdict.complaint;
}

// MPI_Win_free returned, and the memory was unmapped, while an adapter could still read the answer to a get.
TEST(Campaign, FreedWindowsAreReadByNobody) {
  const SeedVerdict verdict = run_seed(144172, {});
  EXPECT_TRUE(verdict.good()) << verdict.complaint;
}

// A receive found a large message that had come before, and the program then computed: the thread that goes
// on meanwhile slept without a limit, for nothing had been under way when it looked last.
TEST(Campaign, WhatAReceiveFindsIsBegunThoughTheThreadSleeps) {
  const SeedVerdict verdict = run_seed(3094311, {});
  EXPECT_TRUE(verdict.good()) << verdict.complaint;
}

// With few connections, a path that failed while it was closed rested although there was no other: its end
// refused to be connected for up to ten seconds, again and again.
TEST(Campaign, NoPathRestsThatIsTheOnlyOne) {
  for (const std::uint64_t seed : {769, 2906}) {
    const SeedVerdict verdict = run_seed(seed, {});
    EXPECT_TRUE(verdict.good()) << verdict.complaint;
  }
}

// A rank slept in MPI_Win_lock when its neighbour's process ended the turn of a rank on another host.
TEST(Campaign, WhoLeavesALockWakesItsNeighbour) {
  const SeedVerdict verdict = run_seed(135882, {});
  EXPECT_TRUE(verdict.good()) << verdict.complaint;
}

// With few connections, a receive was posted for a large message that had been offered, and the program
// computed: nobody looked at the timer that was to ask for room, so the sender waited until it had computed.
TEST(Campaign, WhoComputesStillAsksForRoom) {
  const SeedVerdict verdict = run_seed(312918, {});
  EXPECT_TRUE(verdict.good()) << verdict.complaint;
}

// Three broadcasts by multicast began together, the packets of the last two were lost, and whose time to say
// so had been put off until the first was over never did.
TEST(Campaign, ABroadcastThatBeganEarlySaysWhatItLacks) {
  const SeedVerdict verdict = run_seed(16572125, {});
  EXPECT_TRUE(verdict.good()) << verdict.complaint;
}

// The datagram queue of a dead adapter was armed for what it had taken back, which nobody looked at.
TEST(Campaign, DeadAdaptersAreNotArmed) {
  const SeedVerdict verdict = run_seed(2050217, {});
  EXPECT_TRUE(verdict.good()) << verdict.complaint;
}

// The address changed, or the adapter was opened again, while the port was down. When the port came up,
// nothing else was due, and nobody was told the new address.
TEST(Campaign, WhatChangedWhileThePortWasDownIsTold) {
  for (const std::uint64_t seed : {27735, 5037071}) {
    const SeedVerdict verdict = run_seed(seed, {});
    EXPECT_TRUE(verdict.good()) << verdict.complaint;
  }
}

// Seeds in which ranks are killed, and the others once did not go on.
class KillSeed : public testing::TestWithParam<std::uint64_t> {};

TEST_P(KillSeed, IsSurvived) {
  const SeedVerdict verdict = run_seed(GetParam(), {.wishes = {.kills = true}});
  EXPECT_TRUE(verdict.good()) << verdict.complaint;
}
// A process slept, though its rails had just given a peer up: it did not tell the launcher, which would have
// ended one of them.
INSTANTIATE_TEST_SUITE_P(ALossWasSleptOver, KillSeed, testing::Values(1196, 1479, 1770));
// What was begun with a peer that the rails had given up before failed with MPI_ERR_OTHER.
INSTANTIATE_TEST_SUITE_P(ThePeerWasLostBefore, KillSeed, testing::Values(161, 313, 834, 988));
// Something was sent to a process that had failed before it was ever talked to: it was connected to for ever.
INSTANTIATE_TEST_SUITE_P(TheDeadWasAStranger, KillSeed, testing::Values(12550));
// A leader spoke of a broadcast by multicast that its root had never begun, because a process had failed.
INSTANTIATE_TEST_SUITE_P(TheRootHadNotBegun, KillSeed, testing::Values(3757));
// Who waited for room at its own end took the peer for lost; and a revocation did not reach everyone, as
// those who heard of it before they had made the communicator did not pass it on.
INSTANTIATE_TEST_SUITE_P(NoRoomForAConnection, KillSeed, testing::Values(18112));

TEST(Campaign, DrawsKilledRanks) {
  int with_kills = 0;
  for (std::uint64_t seed = 1; seed <= 320; ++seed) {
    const Scenario drawn = draw_scenario(seed, {});
    with_kills += drawn.simulation.survival.has_value();
    const Scenario wished = draw_scenario(seed, {.kills = true});
    EXPECT_TRUE(wished.simulation.survival.has_value());
    EXPECT_FALSE(wished.simulation.survival->kills.empty());
    EXPECT_FALSE(draw_scenario(seed, {.faults = false}).simulation.survival.has_value());
  }
  EXPECT_GT(with_kills, 5);
  EXPECT_LT(with_kills, 60);
}

TEST(Campaign, ReachesEveryPartOfTheProtocol) {
#ifdef HAWSER_SANITIZE_thread
  GTEST_SKIP() << "it runs in one thread, where the thread sanitizer has nothing to find";
#endif
  CampaignOptions options;
  options.first = 2001;
  options.last = 2400;
  options.twice_every = 40;
  const CampaignResult result = run_campaign(options, [](std::uint64_t seed, const std::string& why) {
    ADD_FAILURE() << "seed " << seed << ": " << why;
  });
  EXPECT_EQ(result.seeds, 400u);
  EXPECT_EQ(result.repeated, 10u);
  for (const char* name : {"incidents", "failures", "watchdog", "fences", "packets_reissued",
                           "stripes_reissued", "already_arrived", "taken_back", "recoveries", "partitions",
                           "migrations", "dropped_stale", "killed", "bundled"})
    EXPECT_GT(result.reached.at(name), 0u) << name;
}

}  // namespace
}  // namespace hawser
