// What goes through a part that is to blame for a failure is avoided at once, and taken back when it is well.
#include "rails/traffic.h"

namespace hawser::rails_test {
namespace {

ClusterOptions four_hosts() {
  ClusterOptions options = two_rails();
  options.hosts = 4;
  return options;
}

// Process 0 with two others at the same time.
void stream_to_two(RailCluster& cluster, Nanoseconds time) {
  const Nanoseconds end = cluster.now() + time;
  while (cluster.now() < end && cluster.failure().empty()) {
    for (int other : {1, 2}) {
      cluster.at(0).post({other, 65536, true});
      cluster.at(other).post({0, 65536, true});
    }
    cluster.run(cluster.now() + millisecond, false);
  }
}

// The local port is a black hole. That it is the port is known from two peers; a message to the third, which
// had nothing to send meanwhile, must not have to find out for itself.
TEST(RailQuarantine, PeerThatWasIdleIsReachedOverTheOtherRailAtOnce) {
  RailCluster cluster(four_hosts());
  for (int i = 0; i < 10; ++i) cluster.at(0).post({3, 20000, true});
  stream_to_two(cluster, 20 * millisecond);
  cluster.inject("link n0/hw0 blackhole both");
  while (sum(cluster, &RailCounters::quarantined) == 0) {
    ASSERT_LT(cluster.now(), 300 * millisecond) << cluster.describe();
    stream_to_two(cluster, millisecond);
  }
  ASSERT_TRUE(cluster.run(cluster.now() + second)) << cluster.describe();
  for (int i = 0; i < 10; ++i) {
    const std::uint64_t before = cluster.at(3).arrived;
    const Nanoseconds posted = cluster.now();
    cluster.at(0).post({3, 100});
    while (cluster.at(3).arrived == before) {
      ASSERT_LT(cluster.now() - posted, millisecond) << cluster.describe();
      cluster.run(cluster.now() + 10 * microsecond, false);
    }
  }
  cluster.inject("link n0/hw0 clear");
  expect_all_well(cluster);
}

// One of two paths between two ports leads over a spine that is cut off; the other one, which was idle, is
// suspected, tested and used.
TEST(RailQuarantine, WhatIsWellIsUsedAgain) {
  ClusterOptions options = two_rails("fat-tree-144");
  options.hosts = 13;
  options.rails = 1;
  options.parameters.lmc = 1;
  options.knobs.rail_paths = "2";
  options.knobs.rail_policy = "binding";
  options.knobs.rail_migration = "off";
  // Only the adapter notices; software would ask the idle path before anything fails.
  options.knobs.rail_silence = 0;
  options.knobs.rail_acknowledge_time = 16 * millisecond;
  RailCluster cluster(options);
  stream(cluster, 20 * millisecond, 0, 12, 2 * millisecond);
  for (int port = 13; port <= 24 && sum(cluster, &RailCounters::quarantined) == 0; ++port) {
    cluster.inject("link LEAF00:" + std::to_string(port) + " blackhole both");
    stream(cluster, 100 * millisecond, 0, 12, 2 * millisecond);
    cluster.inject("link LEAF00:" + std::to_string(port) + " clear");
  }
  EXPECT_GE(sum(cluster, &RailCounters::quarantined), 1u) << cluster.describe();
  EXPECT_EQ(sum(cluster, &RailCounters::partitions), 0u) << cluster.describe();
  expect_all_well(cluster);
  EXPECT_EQ(sum(cluster, &RailCounters::cleared), sum(cluster, &RailCounters::quarantined))
      << cluster.describe();
}

// A peer's port fails while the way to others works: they have nothing to do with it.
TEST(RailQuarantine, OtherPeersAreNotSuspectedForTheRemoteEnd) {
  RailCluster cluster(four_hosts());
  stream_to_two(cluster, 20 * millisecond);
  cluster.inject("link n1/hw0 blackhole both");
  stream_to_two(cluster, 200 * millisecond);
  EXPECT_GE(sum(cluster, &RailCounters::failures), 2u) << cluster.describe();
  EXPECT_EQ(cluster.at(0).channel().counters().quarantined, 0u) << cluster.describe();
  cluster.inject("link n1/hw0 clear");
  expect_all_well(cluster);
}

}  // namespace
}  // namespace hawser::rails_test
