// Processes that do not begin with the same rails: a port is down at the start, for a while or for good, or
// the hosts are cabled differently.
#include <gtest/gtest.h>

#include "rails/traffic.h"

namespace hawser::rails_test {
namespace {

ClusterOptions begun_with(std::vector<std::string> faults, const char* topology = "two-switch") {
  ClusterOptions options = two_rails(topology);
  options.before = std::move(faults);
  return options;
}

TEST(RailUneven, PortThatWasDownAtTheStartIsUsedWhenItComesUp) {
  RailCluster cluster(begun_with({"link n1/hw1 down"}));
  stream(cluster, 50 * millisecond);
  cluster.inject("link n1/hw1 up");
  stream(cluster, 500 * millisecond);
  cluster.inject("link n1/hw0 down");
  start_measuring(cluster);
  stream(cluster, 300 * millisecond);
  EXPECT_LE(longest_gap(cluster), 100 * millisecond) << cluster.describe();
  EXPECT_EQ(sum(cluster, &RailCounters::partitions), 0u) << cluster.describe();
  expect_all_well(cluster);
}

// Another one at each end, so that at first there is no way at all.
TEST(RailUneven, EachWithAnotherPortDownWaitsForOneOfThem) {
  RailCluster cluster(begun_with({"link n0/hw0 down", "link n1/hw1 down"}));
  stream(cluster, 50 * millisecond);
  cluster.inject("link n1/hw1 up");
  expect_all_well(cluster);
}

// Every rail is a network of its own. One end has one of them only, and that comes and goes.
TEST(RailUneven, TheOnlyRailOfOneEndComesBackAtOnce) {
  RailCluster cluster(begun_with({"link n1/hw1 down"}));
  stream(cluster, 50 * millisecond);
  for (int i = 0; i < 10; ++i) {
    cluster.inject("link n1/hw0 down");
    stream(cluster, 150 * millisecond);
    cluster.inject("link n1/hw0 up");
    const Nanoseconds back = cluster.now();
    EXPECT_TRUE(cluster.run(back + 10 * second)) << cluster.describe();
    EXPECT_LE(cluster.now() - back, 200 * millisecond) << "after cut " << i << cluster.describe();
    stream(cluster, 300 * millisecond);
  }
  expect_all_well(cluster);
}

// One network for all: an end has its cable in the first port, the other one in the second.
TEST(RailUneven, CablesInDifferentPortsFindEachOther) {
  RailCluster cluster(begun_with({"link n0/hw0 down", "link n1/hw1 down"}, "single-switch"));
  stream(cluster, 50 * millisecond);
  expect_all_well(cluster);
  EXPECT_EQ(cluster.at(1).channel().counters().failures, 0u) << cluster.describe();
}

}  // namespace
}  // namespace hawser::rails_test
