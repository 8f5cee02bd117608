// Small messages to peers without a connection, which go by datagram: they arrive once and in order, cost no
// queue pair, and make a connection where there are many.
#include <gtest/gtest.h>

#include <string>

#include "rails/decision/datagram_use.h"
#include "rails/traffic.h"

namespace hawser::rails_test {
namespace {

void post(RailCluster& cluster, int from, int to, int count, std::int64_t bytes = 100) {
  for (int i = 0; i < count; ++i) cluster.at(from).post({to, bytes});
}

std::uint64_t connections(RailCluster& cluster) { return sum(cluster, &RailCounters::connections_made); }

TEST(RailDatagrams, TheFirstMessageNeedsNoConnection) {
  RailCluster cluster(two_rails());
  const Nanoseconds begin = cluster.now();
  post(cluster, 0, 1, 1, 1024);
  cluster.run(begin + millisecond, false);
  EXPECT_EQ(cluster.at(1).arrived, 1u);
  EXPECT_LT(cluster.at(1).last_arrival - begin, 30 * microsecond);
  expect_all_well(cluster);
  EXPECT_EQ(connections(cluster), 0u) << cluster.describe();
  EXPECT_EQ(sum(cluster, &RailCounters::packets_by_datagram), 1u);
  EXPECT_EQ(sum(cluster, &RailCounters::datagrams_repeated), 0u);
}

TEST(RailDatagrams, NowAndThenIsNotWorthAConnection) {
  RailCluster cluster(two_rails());
  for (int i = 0; i < 100; ++i) {
    post(cluster, 0, 1, 1);
    post(cluster, 1, 0, 1);
    cluster.run(cluster.now() + 20 * millisecond, false);
  }
  expect_all_well(cluster);
  EXPECT_EQ(connections(cluster), 0u) << cluster.describe();
}

TEST(RailDatagrams, ManyMakeAConnection) {
  ClusterOptions options = two_rails();
  RailCluster cluster(options);
  post(cluster, 0, 1, 500);
  expect_all_well(cluster);
  EXPECT_EQ(connections(cluster), 4u) << cluster.describe();
  EXPECT_GT(sum(cluster, &RailCounters::packets_by_datagram),
            static_cast<std::uint64_t>(options.knobs.rail_datagrams));
  EXPECT_LT(sum(cluster, &RailCounters::packets_by_datagram), 200u) << "the others go over it";
}

TEST(RailDatagrams, LargeOnesMakeAConnection) {
  RailCluster cluster(two_rails());
  post(cluster, 0, 1, 1, 4000);
  expect_all_well(cluster);
  EXPECT_EQ(connections(cluster), 4u) << cluster.describe();
  EXPECT_EQ(sum(cluster, &RailCounters::packets_by_datagram), 0u);
}

// With few connections, bursts to many in turn need none.
TEST(RailDatagrams, ManyPeersInTurnWithRoomForOne) {
  ClusterOptions options = two_rails();
  options.hosts = 8;
  options.knobs.connections = "2";
  RailCluster cluster(options);
  for (int round = 0; round < 5; ++round)
    for (int one = 0; one < 8; ++one)
      for (int other = 0; other < 8; ++other)
        if (one != other) post(cluster, one, other, 4);
  expect_all_well(cluster);
  EXPECT_EQ(sum(cluster, &RailCounters::connections_beyond_cap), 0u);
  EXPECT_EQ(connections(cluster), 0u) << cluster.describe();
}

class LossyDatagrams : public testing::TestWithParam<int> {};

TEST_P(LossyDatagrams, ArriveOnceAndInOrder) {
  ClusterOptions options = two_rails();
  options.seed = static_cast<std::uint64_t>(GetParam());
  options.knobs.rail_datagrams = 1000;
  options.before = {"link n0/hw0 loss 0.2", "link n1/hw1 loss 0.2"};
  RailCluster cluster(options);
  for (int i = 0; i < 20; ++i) {
    post(cluster, 0, 1, 5);
    post(cluster, 1, 0, 3);
    cluster.run(cluster.now() + millisecond, false);
  }
  cluster.run(cluster.now() + second, false);
  EXPECT_EQ(cluster.at(1).arrived, 100u);
  EXPECT_EQ(cluster.at(0).arrived, 60u);
  EXPECT_GT(sum(cluster, &RailCounters::datagrams_repeated), 0u);
  for (const char* const healed : {"link n0/hw0 clear", "link n1/hw1 clear"}) cluster.inject(healed);
  expect_all_well(cluster);
}

INSTANTIATE_TEST_SUITE_P(Seeds, LossyDatagrams, testing::Range(1, 9));

// Nothing comes by one of the rails: what is sent again takes the other one.
TEST(RailDatagrams, ARailThatLosesEverythingIsNotTheOnlyOne) {
  for (const char* const hole : {"link n1/hw0 loss 1", "link n1/hw1 loss 1"}) {
    ClusterOptions options = two_rails();
    options.before = {hole};
    RailCluster cluster(options);
    post(cluster, 0, 1, 3);
    cluster.run(cluster.now() + 20 * millisecond, false);
    EXPECT_EQ(cluster.at(1).arrived, 3u);
    EXPECT_EQ(connections(cluster), 0u) << cluster.describe();
  }
}

// Each rail is a network of its own, and one end has fewer of them. Which one it has nobody says.
class DatagramsToFewerRails : public testing::TestWithParam<const char*> {};

TEST_P(DatagramsToFewerRails, ArriveAtOnceBothWays) {
  ClusterOptions options = two_rails();
  if (std::string(GetParam()).starts_with("host"))
    options.parameter_lines = GetParam();
  else
    options.before = {GetParam()};
  for (const int first : {0, 1}) {
    RailCluster cluster(options);
    for (int i = 0; i < 5; ++i) {
      for (const int from : {first, 1 - first}) {
        const Nanoseconds begin = cluster.now();
        post(cluster, from, 1 - from, 2);
        cluster.run(begin + millisecond, false);
        EXPECT_LT(cluster.at(1 - from).last_arrival - begin, 30 * microsecond)
            << "from " << from << ", " << i;
      }
    }
    EXPECT_EQ(cluster.at(0).arrived, 10u);
    EXPECT_EQ(cluster.at(1).arrived, 10u);
    EXPECT_EQ(sum(cluster, &RailCounters::datagrams_repeated), 0u) << cluster.describe();
    expect_all_well(cluster);
    EXPECT_EQ(connections(cluster), 0u) << cluster.describe();
  }
}

INSTANTIATE_TEST_SUITE_P(Missing, DatagramsToFewerRails,
                         testing::Values("host n1 n1/hw1", "host n1 n1/hw0", "host n0 n0/hw1",
                                         "link n1/hw1 down", "link n1/hw0 down", "link n0/hw0 down"));

// On one network every way leads there; once the peer was heard of, one is enough.
TEST(RailDatagrams, WhereAllWaysLeadToThePeerFewGoTwice) {
  ClusterOptions options = two_rails("single-switch");
  options.parameter_lines = "host n1 n1/hw1";
  RailCluster cluster(options);
  for (int i = 0; i < 10; ++i) {
    post(cluster, 0, 1, 1);
    post(cluster, 1, 0, 1);
    cluster.run(cluster.now() + 20 * millisecond, false);
  }
  expect_all_well(cluster);
  EXPECT_LE(sum(cluster, &RailCounters::dropped_duplicate), 2u) << "of 20";
  EXPECT_EQ(connections(cluster), 0u) << cluster.describe();
}

// The peer's port goes down later, which nobody says, either: a message waits for that once, not each.
TEST(RailDatagrams, APortThatGoesDownAtThePeerIsAvoided) {
  for (const char* const cut : {"link n1/hw0 down", "link n1/hw1 down"}) {
    RailCluster cluster(two_rails());
    post(cluster, 0, 1, 1);
    cluster.run(cluster.now() + 20 * millisecond, false);
    cluster.inject(cut);
    for (int i = 0; i < 20; ++i) {
      post(cluster, 0, 1, 1);
      cluster.run(cluster.now() + 20 * millisecond, false);
    }
    EXPECT_EQ(cluster.at(1).arrived, 21u);
    EXPECT_LE(sum(cluster, &RailCounters::datagrams_repeated), 4u) << cut << cluster.describe();
  }
}

// A peer that computes answers nobody; what waits for it is bounded, and arrives when it looks.
TEST(RailDatagrams, APeerThatComputesIsWaitedFor) {
  RailCluster cluster(two_rails());
  cluster.at(1).computes_until = cluster.now() + 50 * millisecond;
  post(cluster, 0, 1, 10);
  cluster.run(cluster.now() + 60 * millisecond, false);
  expect_all_well(cluster);
  EXPECT_EQ(cluster.at(1).arrived, 10u);
  EXPECT_EQ(connections(cluster), 0u) << cluster.describe();
}

// Nothing is heard of it for long: connecting finds out whether it moved.
TEST(RailDatagrams, WhoStaysSilentIsConnectedWith) {
  RailCluster cluster(two_rails());
  cluster.at(1).computes_until = cluster.now() + 400 * millisecond;
  post(cluster, 0, 1, 1);
  expect_all_well(cluster);
  EXPECT_EQ(cluster.at(1).arrived, 1u);
  EXPECT_GT(connections(cluster), 0u) << cluster.describe();
}

// A process of the job that lies in its datagrams.
TEST(RailDatagrams, OfALiarAreDropped) {
  ClusterOptions options = two_rails();
  int lies = 0;
  options.lie = [&](bool datagram, std::span<std::byte> bytes) {
    if (!datagram || lies++ > 0) return bytes.size();
    bytes[bytes.size() - 1] ^= std::byte{1};  // and the check does not fit any more
    return bytes.size();
  };
  RailCluster cluster(options);
  post(cluster, 0, 1, 1);
  cluster.run(cluster.now() + second, false);
  EXPECT_EQ(cluster.at(1).arrived, 1u) << "by the next one";
  EXPECT_EQ(cluster.at(1).channel().counters().dropped_datagrams, 1u);
}

}  // namespace
}  // namespace hawser::rails_test
