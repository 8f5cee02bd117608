// Paths that say nothing any more: found by software while the adapter is still patient, so that its patience
// can be long enough for crowded networks.
#include "rails/traffic.h"

namespace hawser::rails_test {
namespace {

ClusterOptions patient(int rails, const char* protocol) {
  ClusterOptions options = two_rails();
  options.rails = rails;
  options.knobs.rail_rendezvous = protocol;
  options.knobs.rail_acknowledge_time = 4 * second;
  options.knobs.rail_watchdog = 100 * second;
  return options;
}

class RailSilence : public testing::TestWithParam<const char*> {};

TEST_P(RailSilence, ABlackHoleIsFoundWhileTheAdapterWaits) {
  RailCluster cluster(patient(2, GetParam()));
  stream(cluster, 50 * millisecond);
  start_measuring(cluster);
  cluster.inject("link n1/hw0 blackhole both");
  stream(cluster, 300 * millisecond);
  EXPECT_LE(longest_gap(cluster), 100 * millisecond) << cluster.describe();
  EXPECT_GE(sum(cluster, &RailCounters::watchdog), 1u) << cluster.describe();
  EXPECT_EQ(sum(cluster, &RailCounters::late_failures), 0u) << cluster.describe();
  cluster.inject("link n1/hw0 clear");
  expect_all_well(cluster);
}

// The other path has had nothing to do: a packet asks it.
TEST_P(RailSilence, APathThatWasIdleIsAsked) {
  ClusterOptions options = patient(2, GetParam());
  options.knobs.rail_policy = "binding";
  RailCluster cluster(options);
  stream(cluster, 50 * millisecond);
  for (const char* rail : {"0", "1"}) {
    start_measuring(cluster);
    cluster.inject(std::string("link n1/hw") + rail + " blackhole both");
    stream(cluster, 300 * millisecond);
    EXPECT_LE(longest_gap(cluster), 100 * millisecond) << cluster.describe();
    cluster.inject(std::string("link n1/hw") + rail + " clear");
    expect_all_well(cluster);
  }
  EXPECT_GE(sum(cluster, &RailCounters::watchdog), 2u) << cluster.describe();
}

// One that comes and goes is found as soon each time.
TEST_P(RailSilence, SoIsEachOneThatFollows) {
  RailCluster cluster(patient(2, GetParam()));
  stream(cluster, 50 * millisecond);
  int found = 0;
  for (int i = 0; i < 6; ++i) {
    const std::uint64_t failures = sum(cluster, &RailCounters::failures);
    const std::uint64_t recoveries = sum(cluster, &RailCounters::recoveries);
    cluster.inject("link n1/hw0 blackhole both");
    stream(cluster, 100 * millisecond);
    cluster.inject("link n1/hw0 clear");
    if (sum(cluster, &RailCounters::failures) == failures) continue;  // nothing was sent there
    ++found;
    const Nanoseconds cleared = cluster.now();
    while (sum(cluster, &RailCounters::recoveries) == recoveries) {
      ASSERT_LT(cluster.now() - cleared, 20 * second) << cluster.describe();
      stream(cluster, 20 * millisecond);
    }
    stream(cluster, 50 * millisecond);
  }
  EXPECT_GE(found, 2) << cluster.describe();
  expect_all_well(cluster);
}

// Where nobody else can tell, the network may only be crowded: that is for the adapter to say.
TEST_P(RailSilence, TheOnlyPathIsNotGivenUp) {
  RailCluster cluster(patient(1, GetParam()));
  stream(cluster, 50 * millisecond);
  cluster.inject("link n1/hw0 blackhole both");
  stream(cluster, 500 * millisecond);
  EXPECT_EQ(sum(cluster, &RailCounters::failures), 0u) << cluster.describe();
  cluster.inject("link n1/hw0 clear");
  expect_all_well(cluster);
}

// A packet, or a piece of a large message, is lost with nothing behind it: no need to wait for the adapter.
TEST_P(RailSilence, WhatWasLostAtTheEndIsAskedFor) {
  RailCluster cluster(patient(1, GetParam()));
  stream(cluster, 50 * millisecond);
  expect_all_well(cluster);
  for (const std::int64_t bytes : {100, 65536}) {
    cluster.inject("link n1/hw0 blackhole both");
    cluster.at(0).post({1, bytes, bytes > 1000});
    cluster.run(cluster.now() + 5 * millisecond, false);
    cluster.inject("link n1/hw0 clear");
    const Nanoseconds lost = cluster.now();
    const std::uint64_t before = cluster.at(1).arrived;
    while (cluster.at(1).arrived == before && cluster.now() < lost + 10 * second)
      cluster.run(cluster.now() + millisecond, false);
    EXPECT_LE(cluster.now() - lost, 100 * millisecond) << cluster.describe();
  }
  EXPECT_EQ(sum(cluster, &RailCounters::failures), 0u) << cluster.describe();
  expect_all_well(cluster);
}

// A peer that computes hears fences when it looks. Until then they do not take its room for receives.
TEST_P(RailSilence, FencesToAPeerThatComputesAreNotPiledUp) {
  ClusterOptions options = two_rails();
  options.knobs.rail_rendezvous = GetParam();
  RailCluster cluster(options);
  stream(cluster, 50 * millisecond);
  cluster.at(1).computes_until = cluster.now() + 10 * second;
  cluster.inject("qp n0/hw0 all kill");
  cluster.at(0).post({1, 100});
  cluster.run(cluster.now() + second, false);
  const std::uint64_t before = cluster.at(0).channel().counters().packets_sent;
  cluster.run(cluster.now() + 8 * second, false);
  EXPECT_LE(cluster.at(0).channel().counters().packets_sent, before + 10) << cluster.describe();
  expect_all_well(cluster);
}

INSTANTIATE_TEST_SUITE_P(Protocol, RailSilence, testing::Values("read", "write"),
                         [](const auto& each) { return std::string(each.param); });

}  // namespace
}  // namespace hawser::rails_test
