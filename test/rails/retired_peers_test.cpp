// Peers that are not spoken to for long: little is kept of them, and all that matters.
#include <gtest/gtest.h>

#include "rails/traffic.h"

namespace hawser::rails_test {
namespace {

constexpr Nanoseconds rest = 200 * millisecond;

ClusterOptions resting(int hosts) {
  ClusterOptions options = two_rails();
  options.hosts = hosts;
  options.peer_rest = rest;
  return options;
}

std::uint64_t retired(RailCluster& cluster) { return sum(cluster, &RailCounters::peers_retired); }

std::uint64_t peer_bytes(RailCluster& cluster, int of) {
  return cluster.at(of).channel().counters().peer_bytes;
}

void both_ways(RailCluster& cluster, int one, int other, std::int64_t bytes) {
  cluster.at(one).post({other, bytes});
  cluster.at(other).post({one, bytes});
  EXPECT_TRUE(cluster.run(cluster.now() + second)) << cluster.describe();
}

// With a look now and then, as a process that waits has them.
void rest_for(RailCluster& cluster, Nanoseconds time) {
  for (const Nanoseconds end = cluster.now() + time; cluster.now() < end;)
    cluster.run(cluster.now() + rest / 4, false);
}

TEST(RetiredPeers, ThatWereSpokenToByDatagram) {
  RailCluster cluster(resting(8));
  const std::uint64_t at_first = peer_bytes(cluster, 0);
  for (int other = 1; other < 8; ++other) both_ways(cluster, 0, other, 100);
  const std::uint64_t known = peer_bytes(cluster, 0);
  EXPECT_GT(known, at_first + 7 * 1000);
  rest_for(cluster, 3 * rest);
  EXPECT_EQ(retired(cluster), 14u) << cluster.describe();
  EXPECT_LE(peer_bytes(cluster, 0), at_first + 7 * 64);
  for (int round = 0; round < 3; ++round) {
    both_ways(cluster, 0, 1, 100);
    both_ways(cluster, 0, 2, 100);
    rest_for(cluster, 3 * rest);
  }
  expect_all_well(cluster);
  EXPECT_EQ(sum(cluster, &RailCounters::peers_restored), 12u);
  EXPECT_EQ(sum(cluster, &RailCounters::connections_made), 0u);
}

TEST(RetiredPeers, NotWhileTheyAreSpokenToOrConnected) {
  RailCluster cluster(resting(3));
  for (int i = 0; i < 20; ++i) {
    both_ways(cluster, 0, 1, 100);
    both_ways(cluster, 0, 2, 8000);
    rest_for(cluster, rest / 4);
  }
  rest_for(cluster, 10 * rest);
  expect_all_well(cluster);
  EXPECT_EQ(retired(cluster), 2u) << "process 0 and 1, in the end\n" << cluster.describe();
}

// What is late of a connection that was closed must not be taken for something of the next one.
TEST(RetiredPeers, WhoseConnectionsWereClosed) {
  ClusterOptions options = resting(4);
  options.knobs.connections = "2";
  RailCluster cluster(options);
  for (int round = 0; round < 4; ++round) {
    for (int other = 1; other < 4; ++other) both_ways(cluster, 0, other, 8000);
    rest_for(cluster, 3 * rest);
  }
  expect_all_well(cluster);
  EXPECT_GE(retired(cluster), 8u) << cluster.describe();
  EXPECT_GE(sum(cluster, &RailCounters::peers_restored), 5u);
  EXPECT_EQ(sum(cluster, &RailCounters::failures), 0u) << cluster.describe();
  EXPECT_EQ(sum(cluster, &RailCounters::connections_beyond_cap), 0u);
  EXPECT_EQ(sum(cluster, &RailCounters::datagrams_repeated), 0u);
}

// They are told of by datagrams, or learn it from the one that asks.
TEST(RetiredPeers, WhoMovedMeanwhile) {
  RailCluster cluster(resting(2));
  both_ways(cluster, 0, 1, 100);
  cluster.inject("lid n1/hw0 77");
  rest_for(cluster, 3 * rest);
  EXPECT_EQ(retired(cluster), 2u) << cluster.describe();
  cluster.inject("lid n1/hw1 78");
  rest_for(cluster, 3 * rest);
  for (int round = 0; round < 2; ++round) {
    const Nanoseconds begin = cluster.now();
    both_ways(cluster, 0, 1, 100);
    EXPECT_LT(cluster.at(1).last_arrival - begin, millisecond) << "the address is known";
    rest_for(cluster, 3 * rest);
  }
  expect_all_well(cluster);
}

}  // namespace
}  // namespace hawser::rails_test
