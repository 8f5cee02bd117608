// Paths and engines that are connected when messages want them: only then, one by one, never beyond what
// there is room for, and nothing is lost when they fail, close or are refused meanwhile.
#include <gtest/gtest.h>

#include "rails/traffic.h"

namespace hawser::rails_test {
namespace {

constexpr int paths = 4;

ClusterOptions with_paths(int hosts, int rails, std::uint32_t restless) {
  ClusterOptions options = two_rails();
  options.hosts = hosts;
  options.rails = rails;
  options.parameters.lmc = 2;
  options.knobs.rail_datagrams = 0;
  options.restless_paths = restless;
  return options;
}

RailCounters counters(RailCluster& cluster, int of) { return cluster.at(of).channel().counters(); }

TEST(PathsOnDemand, TheFirstMessagesConnectOneOnEachRail) {
  ClusterOptions options = with_paths(2, 2, 0);
  options.parameters.link_rate = 1e9;  // as the port says
  RailCluster cluster(options);
  stream(cluster, 20 * millisecond);
  expect_all_well(cluster);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(counters(cluster, i).connections_made, 2u);
    EXPECT_EQ(counters(cluster, i).connections_on_demand, 0u);
    EXPECT_EQ(counters(cluster, i).queue_pairs, 2u);
  }
}

TEST(PathsOnDemand, ANumberIsConnectedAtOnce) {
  ClusterOptions options = with_paths(2, 2, 0);
  options.knobs.rail_paths = "4";
  RailCluster cluster(options);
  stream(cluster, 5 * millisecond);
  expect_all_well(cluster);
  EXPECT_EQ(counters(cluster, 0).connections_made, 8u);
  EXPECT_EQ(counters(cluster, 0).connections_on_demand, 0u);
}

TEST(PathsOnDemand, OthersThanTheDefaultPolicyHaveNoUseForThem) {
  ClusterOptions options = with_paths(2, 2, 1);
  options.knobs.rail_policy = "even";
  RailCluster cluster(options);
  stream(cluster, 20 * millisecond);
  expect_all_well(cluster);
  EXPECT_EQ(counters(cluster, 0).connections_made, 2u);
}

TEST(PathsOnDemand, MessagesThatWantThemGetThem) {
  ClusterOptions options = with_paths(2, 2, 4);
  options.knobs.rail_engines = "1";
  RailCluster cluster(options);
  stream(cluster, 60 * millisecond);
  expect_all_well(cluster);
  EXPECT_EQ(sum(cluster, &RailCounters::failures), 0u) << cluster.describe();
  EXPECT_EQ(sum(cluster, &RailCounters::demands_refused), 0u);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(counters(cluster, i).connections_made, 2u * paths) << "all of them";
}

TEST(PathsOnDemand, EnginesAsWell) {
  ClusterOptions options = with_paths(2, 1, 4);
  options.parameters.lmc = 0;
  options.knobs.rail_engines = "auto";
  RailCluster cluster(options);
  stream(cluster, 60 * millisecond);
  expect_all_well(cluster);
  EXPECT_EQ(counters(cluster, 0).connections_made, 4u);
  EXPECT_EQ(counters(cluster, 0).connections_on_demand, 3u);
}

// Who has room asks one who has none.
TEST(PathsOnDemand, NobodyTakesThemBeyondTheCap) {
  ClusterOptions options = with_paths(3, 1, 1);
  options.knobs.connections = "2";
  RailCluster cluster(options);
  cluster.at(0).post({1, 20000, true});
  cluster.at(0).post({2, 20000, true});
  EXPECT_TRUE(cluster.run(cluster.now() + second)) << cluster.describe();
  stream(cluster, 40 * millisecond, 0, 1);
  expect_all_well(cluster);
  EXPECT_EQ(counters(cluster, 0).connections_made, 2u);
  EXPECT_EQ(counters(cluster, 0).queue_pairs_most, 2u);
  EXPECT_GT(counters(cluster, 1).demands_refused, 0u) << "asked, and was refused";
  EXPECT_EQ(counters(cluster, 1).connections_on_demand, 0u);
  EXPECT_EQ(counters(cluster, 1).queue_pairs, 1u) << "what was made for it is gone";
  EXPECT_EQ(sum(cluster, &RailCounters::failures), 0u) << cluster.describe();
}

// They go with the others, and come back only when they are wanted.
TEST(PathsOnDemand, AreGivenBackWithTheConnections) {
  ClusterOptions options = with_paths(4, 1, 2);
  options.knobs.connections = "4";
  RailCluster cluster(options);
  for (int round = 0; round < 4; ++round)
    for (int other = 1; other < 4; ++other) {
      stream(cluster, 10 * millisecond, 0, other);
      EXPECT_TRUE(cluster.run(cluster.now() + second)) << cluster.describe();
    }
  cluster.at(1).post({2, 20000, true});
  expect_all_well(cluster);
  EXPECT_GT(counters(cluster, 0).connections_on_demand, 0u);
  EXPECT_GT(counters(cluster, 0).connections_closed, 0u);
  EXPECT_LE(counters(cluster, 0).queue_pairs_most, 4u);
  EXPECT_EQ(sum(cluster, &RailCounters::failures), 0u) << cluster.describe();
}

// While the others are being opened, at any moment.
TEST(PathsOnDemand, AFaultInTheMiddle) {
  const char* const faults[] = {"link n1/hw0 down", "qp n0/hw0 all kill", "switch switch0 dead"};
  const char* const ends[] = {"link n1/hw0 up", "", "switch switch0 alive"};
  std::uint64_t made = 0;
  for (int i = 0; i < 90; ++i) {
    RailCluster cluster(with_paths(2, i % 2 + 1, 1));
    cluster.inject_at(cluster.now() + 400 * microsecond + i * 20 * microsecond, faults[i % 3]);
    stream(cluster, 8 * millisecond);
    if (ends[i % 3][0] != 0) cluster.inject(ends[i % 3]);
    expect_all_well(cluster);
    made += counters(cluster, 0).connections_on_demand;
    ASSERT_FALSE(::testing::Test::HasFailure()) << i;
  }
  EXPECT_GT(made, 90u);
}

// The adapter has no queue pairs for them: nothing that is needed suffers.
TEST(PathsOnDemand, AdaptersMayHaveNoneLeft) {
  ClusterOptions options = with_paths(2, 1, 1);
  options.parameters.queue_pairs = 4;  // one is for datagrams
  RailCluster cluster(options);
  const auto stranger = cluster.open_device(1);
  const auto taken = stranger->make_datagram_queue_pair(1, RailCluster::datagram_key() + 1).value();
  stream(cluster, 60 * millisecond);
  expect_all_well(cluster);
  EXPECT_GT(sum(cluster, &RailCounters::demands_refused), 0u);
  EXPECT_EQ(sum(cluster, &RailCounters::connections_closed), 0u);
  EXPECT_EQ(sum(cluster, &RailCounters::failures), 0u) << cluster.describe();
}

}  // namespace
}  // namespace hawser::rails_test
