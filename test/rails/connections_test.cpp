// Connections that are closed because a process may have only so many: nothing is lost, nothing counts as a
// fault, and processes that are full do not wait for each other for ever.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "rails/traffic.h"

namespace hawser::rails_test {
namespace {

ClusterOptions capped(int hosts, int connections) {
  ClusterOptions options = two_rails();
  options.hosts = hosts;
  options.knobs.connections = std::to_string(connections);
  options.knobs.rail_datagrams = 0;
  return options;
}

RailCounters counters(RailCluster& cluster, int of) { return cluster.at(of).channel().counters(); }

void exchange(RailCluster& cluster, int one, int other) {
  for (const bool exposed : {false, true}) {
    cluster.at(one).post({other, exposed ? 65536 : 100, exposed});
    cluster.at(other).post({one, exposed ? 65536 : 100, exposed});
  }
  EXPECT_TRUE(cluster.run(cluster.now() + second)) << cluster.describe();
}

void expect_no_faults(RailCluster& cluster) {
  EXPECT_EQ(sum(cluster, &RailCounters::failures), 0u) << cluster.describe();
  EXPECT_EQ(sum(cluster, &RailCounters::recoveries), 0u) << cluster.describe();
  EXPECT_EQ(sum(cluster, &RailCounters::partitions), 0u) << cluster.describe();
  EXPECT_EQ(sum(cluster, &RailCounters::packets_reissued), 0u) << cluster.describe();
}

TEST(RailConnections, ComeAndGo) {
  RailCluster cluster(capped(4, 2));
  for (int round = 0; round < 3; ++round)
    for (int other = 1; other < 4; ++other) {
      exchange(cluster, 0, other);
      cluster.run(cluster.now() + millisecond, false);
    }
  expect_all_well(cluster);
  expect_no_faults(cluster);
  // Each of the nine visits but the last was closed for the next one, on both rails.
  EXPECT_EQ(counters(cluster, 0).connections_made, 18u);
  EXPECT_EQ(counters(cluster, 0).connections_closed, 16u);
  EXPECT_EQ(counters(cluster, 0).connections_beyond_cap, 0u);
}

TEST(RailConnections, NobodyClosesWithoutACap) {
  ClusterOptions options = two_rails();
  options.hosts = 4;
  RailCluster cluster(options);
  for (int other = 1; other < 4; ++other) exchange(cluster, 0, other);
  expect_all_well(cluster);
  EXPECT_EQ(sum(cluster, &RailCounters::connections_closed), 0u);
  EXPECT_EQ(sum(cluster, &RailCounters::closings_asked), 0u);
}

// A peer with traffic under way stays while others come and go beside it.
TEST(RailConnections, WhoIsBusyStays) {
  RailCluster cluster(capped(4, 4));
  exchange(cluster, 0, 1);
  for (int i = 0; i < 200; ++i) {
    for (int k = 0; k < 4; ++k) cluster.at(0).post({1, 65536, true});
    if (i % 20 == 0) cluster.at(0).post({2 + i / 20 % 2, 100});
    cluster.run(cluster.now() + 500 * microsecond, false);
  }
  expect_all_well(cluster);
  expect_no_faults(cluster);
  EXPECT_EQ(counters(cluster, 1).connections_made, 2u) << cluster.describe();
  EXPECT_GE(counters(cluster, 2).connections_closed, 2u) << cluster.describe();
}

// Everybody is full, and everybody wants somebody else.
TEST(RailConnections, AllToAllWithRoomForOnePeer) {
  constexpr int hosts = 8, rounds = 5;
  RailCluster cluster(capped(hosts, 2));
  for (int round = 0; round < rounds; ++round)
    for (int one = 0; one < hosts; ++one)
      for (int other = 0; other < hosts; ++other)
        if (one != other)
          cluster.at(one).post({other, (one + other) % 3 == 0 ? 20000 : 100, (one + other) % 3 == 0});
  const Nanoseconds begin = cluster.now();
  EXPECT_TRUE(cluster.run(begin + second)) << cluster.describe();
  RecordProperty("microseconds", static_cast<int>((cluster.now() - begin) / microsecond));
  expect_all_well(cluster);
  expect_no_faults(cluster);
  for (int i = 0; i < hosts; ++i) EXPECT_EQ(cluster.at(i).arrived, rounds * (hosts - 1u));
}

// Adapters that have too few queue pairs for everybody: without a word from the user, each process keeps to
// what there is.
TEST(RailConnections, FewQueuePairsInTheAdapters) {
  constexpr int hosts = 8, rounds = 3;
  for (const int others : {0, 3}) {  // that another program took of one adapter
    ClusterOptions options = two_rails();
    options.hosts = hosts;
    options.parameters.queue_pairs = 6;
    RailCluster cluster(options);
    const auto stranger = cluster.open_device(1);
    std::vector<std::unique_ptr<rdma::DatagramQueuePair>> taken;
    for (int i = 0; i < others; ++i)
      taken.push_back(stranger->make_datagram_queue_pair(1, RailCluster::datagram_key() + 1 + i).value());
    for (int round = 0; round < rounds; ++round)
      for (int one = 0; one < hosts; ++one)
        for (int other = 0; other < hosts; ++other)
          if (one != other) cluster.at(one).post({other, 20000, true});
    EXPECT_TRUE(cluster.run(cluster.now() + 20 * second)) << cluster.describe();
    expect_all_well(cluster);
    EXPECT_GT(sum(cluster, &RailCounters::connections_closed), 0u);
    for (int i = 0; i < hosts; ++i) EXPECT_EQ(cluster.at(i).arrived, rounds * (hosts - 1u));
  }
}

// A fault in the middle of a tear-down is one fault.
TEST(RailConnections, CableOutWhileTheyClose) {
  for (int delay = 0; delay < 60; ++delay) {
    RailCluster cluster(capped(3, 2));
    exchange(cluster, 0, 1);
    cluster.run(cluster.now() + millisecond, false);
    cluster.inject_at(cluster.now() + delay * microsecond,
                      delay % 2 == 0 ? "link n1/hw0 down" : "switch switch1 dead");
    cluster.at(0).post({2, 100});
    cluster.run(cluster.now() + 20 * millisecond, false);
    cluster.at(1).post({0, 65536, true});
    cluster.at(0).post({1, 65536, true});
    cluster.inject(delay % 2 == 0 ? "link n1/hw0 up" : "switch switch1 alive");
    expect_all_well(cluster);
    EXPECT_EQ(cluster.at(1).arrived, 3u);
    EXPECT_EQ(cluster.at(0).arrived, 3u);
  }
}

// Process 0 gets no queue pair that connects: its host has no memory or descriptors left.
bool none_left;
ibv_qp* make_or_refuse(ibv_pd* domain, ibv_qp_init_attr* attributes) {
  if (!none_left || attributes->qp_type != IBV_QPT_RC) return ibv_create_qp(domain, attributes);
  errno = EMFILE;
  return nullptr;
}

ClusterOptions with_none_left() {
  ClusterOptions options = two_rails();
  options.hosts = 3;
  options.knobs.rail_datagrams = 0;
  none_left = true;
  options.verbs = [](rdma::VerbsFunctions& functions) { functions.create_qp = make_or_refuse; };
  return options;
}

TEST(RailConnections, WhoGetsNoQueuePairsSaysSoOnce) {
  RailCluster cluster(with_none_left());
  cluster.at(0).post({1, 100});
  cluster.run(4 * second);
  EXPECT_THAT(cluster.at(0).notices, testing::IsEmpty()) << "it may pass";
  cluster.run(30 * second);
  EXPECT_THAT(cluster.at(0).notices,
              testing::ElementsAre(testing::AllOf(testing::HasSubstr("cannot connect with process 1"),
                                                  testing::HasSubstr("Too many open files"),
                                                  testing::HasSubstr("the job may wait for ever"))));
  EXPECT_THAT(cluster.at(1).notices, testing::IsEmpty());
  none_left = false;
  expect_all_well(cluster);
  EXPECT_EQ(cluster.at(1).arrived, 1u);
}

TEST(RailConnections, WhoGetsQueuePairsInTimeSaysNothing) {
  RailCluster cluster(with_none_left());
  for (int peer = 1; peer < 3; ++peer) {
    none_left = true;
    cluster.at(0).post({peer, 100});
    cluster.run(cluster.now() + 4 * second);
    none_left = false;
    expect_all_well(cluster);
  }
  EXPECT_THAT(cluster.at(0).notices, testing::IsEmpty());
}

}  // namespace
}  // namespace hawser::rails_test
