// Service levels from path records: on a subnet with layered routing every packet of a job goes on the level
// that its path record says, whatever happens to paths, and a subnet administrator that does not answer holds
// nobody up for long.
#include <gtest/gtest.h>

#include "base/random.h"
#include "rails/rail_cluster.h"
#include "rails/traffic.h"

namespace hawser::rails_test {
namespace {

ClusterOptions layered(int levels = 4) {
  ClusterOptions options;
  options.hosts = 4;
  options.rails = 2;
  options.topology = "two-switch";
  options.parameters.link_latency = microsecond;
  options.parameters.service_levels = levels;
  options.knobs.rail_service_level = "ask";
  return options;
}

void all_to_all(RailCluster& cluster, int times) {
  for (int round = 0; round < times; ++round)
    for (int from = 0; from < cluster.size(); ++from)
      for (int to = 0; to < cluster.size(); ++to)
        if (from != to) {
          cluster.at(from).post({.to = to, .bytes = 1000});
          cluster.at(from).post({.to = to, .bytes = 200'000, .exposed = true});
        }
}

// All to all again and again, so that whatever fails is missed.
void talk(RailCluster& cluster, Nanoseconds time) {
  for (const Nanoseconds end = cluster.now() + time; cluster.now() < end && cluster.failure().empty();) {
    all_to_all(cluster, 1);
    cluster.run(cluster.now() + 2 * millisecond, false);
  }
}

std::uint64_t queries(RailCluster& cluster) { return sum(cluster, &RailCounters::path_queries); }

void finish(RailCluster& cluster) {
  EXPECT_TRUE(cluster.settle(cluster.now() + 60 * second)) << cluster.describe();
  for (int i = 0; i < cluster.size(); ++i) cluster.at(i).finish();
  EXPECT_EQ(cluster.failure(), "");
}

// To an end, within a second.
void exchange(RailCluster& cluster, int times = 1) {
  all_to_all(cluster, times);
  EXPECT_TRUE(cluster.run(second));
}

TEST(ServiceLevels, EveryPacketGoesOnTheLevelOfItsPathRecord) {
  RailCluster cluster(layered());
  exchange(cluster, 3);
  EXPECT_EQ(cluster.fabric().packets_off_level(), 0u);
  // Each of 4 processes asks once for the way from each of 2 ports to each of 3 others.
  EXPECT_EQ(queries(cluster), 24u);
  EXPECT_EQ(cluster.fabric().manager().answered(), 24u);
  finish(cluster);
}

TEST(ServiceLevels, WithoutAskingPacketsGoOnLevelZero) {
  ClusterOptions options = layered();
  options.knobs.rail_service_level = "0";
  RailCluster cluster(options);
  exchange(cluster);
  EXPECT_GT(cluster.fabric().packets_off_level(), 100u);
  EXPECT_EQ(queries(cluster), 0u);
  finish(cluster);
}

TEST(ServiceLevels, AreTheKnobsIfItNamesOne) {
  ClusterOptions options = layered(1);
  options.knobs.rail_service_level = "3";
  RailCluster cluster(options);
  exchange(cluster);
  EXPECT_EQ(queries(cluster), 0u);
  std::uint64_t sent = 0;
  for (int i = 0; i < cluster.size(); ++i)
    for (int rail = 0; rail < 2; ++rail)
      sent += cluster.fabric().adapter(i, rail)->port(1).counters().sent_packets;
  EXPECT_EQ(cluster.fabric().packets_off_level(), sent);
  finish(cluster);
}

TEST(ServiceLevels, PortsAskByThemselvesIfTheSubnetManagersLevelIsNotZero) {
  ClusterOptions options = layered();
  options.knobs.rail_service_level = "auto";
  RailCluster layers(options);
  exchange(layers);
  EXPECT_GT(queries(layers), 0u);
  finish(layers);
  options.parameters.service_levels = 1;
  RailCluster one(options);
  exchange(one);
  EXPECT_EQ(queries(one), 0u);
  EXPECT_EQ(one.fabric().packets_off_level(), 0u);
  finish(one);
}

TEST(ServiceLevels, HoldAfterFailover) {
  RailCluster cluster(layered());
  cluster.inject_at(2 * millisecond, "link n1/hw0 down");
  cluster.inject_at(3 * millisecond, "qp n2/hw1 all kill");
  cluster.inject_at(40 * millisecond, "link n1/hw0 up");
  talk(cluster, 300 * millisecond);
  EXPECT_GT(sum(cluster, &RailCounters::recoveries), 6u);
  EXPECT_EQ(cluster.fabric().packets_off_level(), 0u);
  finish(cluster);
}

TEST(ServiceLevels, HoldAfterAChangeOfLid) {
  RailCluster cluster(layered());
  talk(cluster, 10 * millisecond);
  const std::uint64_t before = queries(cluster);
  cluster.inject("lid n1/hw0 900");
  talk(cluster, 500 * millisecond);
  EXPECT_GE(queries(cluster), before + 6);  // both directions of the three ways to the port
  EXPECT_EQ(cluster.fabric().packets_off_level(), 0u);
  finish(cluster);
}

TEST(ServiceLevels, HoldAfterMigration) {
  ClusterOptions options = two_rails("two-switch");
  options.rails = 1;
  options.ports = 2;
  options.parameters.service_levels = 4;
  options.knobs.rail_service_level = "ask";
  RailCluster cluster(options);
  stream(cluster, 20 * millisecond);
  ASSERT_GE(sum(cluster, &RailCounters::alternates_armed), 2u) << cluster.describe();
  cluster.inject("link n0/hw0:1 down");
  stream(cluster, 100 * millisecond);
  EXPECT_EQ(sum(cluster, &RailCounters::migrations), 2u) << cluster.describe();
  cluster.inject("link n0/hw0:1 up");
  stream(cluster, 2 * second, 0, 1, 5 * millisecond);
  EXPECT_EQ(sum(cluster, &RailCounters::migrations), 4u) << cluster.describe();
  EXPECT_EQ(sum(cluster, &RailCounters::failures), 0u) << cluster.describe();
  EXPECT_EQ(cluster.fabric().packets_off_level(), 0u);
  expect_all_well(cluster);
}

TEST(ServiceLevels, AreAskedAgainOfTheNextSubnetManager) {
  RailCluster cluster(layered());
  talk(cluster, 10 * millisecond);
  const std::uint64_t before = queries(cluster);
  cluster.inject("sm change");
  cluster.inject("adapter n0/hw0 dying");  // where it was
  talk(cluster, 10 * millisecond);
  cluster.inject("qp n3/hw0 all kill");
  talk(cluster, 200 * millisecond);
  cluster.inject("adapter n0/hw0 alive");
  talk(cluster, 200 * millisecond);
  EXPECT_GT(queries(cluster), before);
  EXPECT_EQ(sum(cluster, &RailCounters::path_records_unavailable), 0u);
  EXPECT_EQ(cluster.fabric().packets_off_level(), 0u);
  finish(cluster);
}

TEST(ServiceLevels, AnAdministratorThatDoesNotAnswerIsWaitedForOnce) {
  const auto time_of = [](bool answers) {
    RailCluster cluster(layered());
    // Its queue pair gets nothing: the other hosts talk on.
    if (!answers) cluster.inject("adapter n0/hw0 dying");
    if (!answers) cluster.inject("adapter n0/hw1 dying");
    for (int from = 1; from < 4; ++from)
      for (int to = 1; to < 4; ++to)
        if (from != to) cluster.at(from).post({.to = to, .bytes = 1000});
    EXPECT_TRUE(cluster.run(second)) << cluster.describe();
    const Nanoseconds first = cluster.now();
    // Connections that are made later do not wait again.
    cluster.inject("qp n2/hw0 all kill");
    cluster.inject("qp n2/hw1 all kill");
    for (int from = 1; from < 4; ++from)
      for (int to = 1; to < 4; ++to)
        if (from != to) cluster.at(from).post({.to = to, .bytes = 1000});
    EXPECT_TRUE(cluster.run(10 * second)) << cluster.describe();
    for (int i = 1; i < 4; ++i) {
      EXPECT_EQ(cluster.at(i).channel().counters().path_records_unavailable, answers ? 0u : 2u);
    }
    EXPECT_EQ(cluster.failure(), "");
    return std::pair(first, cluster.now() - first);
  };
  const auto [first, second_time] = time_of(true);
  const auto [first_without, second_without] = time_of(false);
  EXPECT_LT(first, millisecond);
  EXPECT_GE(first_without, 300 * millisecond);
  EXPECT_LT(first_without, 310 * millisecond);
  EXPECT_LT(second_without, second_time + 50 * millisecond);
}

// Each end asks in its turn: a round trip over a switch (two cables each way) for either, and nothing later.
TEST(ServiceLevels, AskingCostsARoundTripOfEachEndOnce) {
  const auto times = [](const char* level) {
    ClusterOptions options = layered();
    options.hosts = 2;
    options.rails = 1;
    options.knobs.rail_datagrams = 0;
    options.knobs.rail_service_level = level;
    RailCluster cluster(options);
    const auto exchange = [&] {
      const Nanoseconds begin = cluster.now();
      cluster.at(1).post({.to = 0, .bytes = 100});
      const std::uint64_t arrived = cluster.at(0).arrived;
      while (cluster.at(0).arrived == arrived && cluster.now() < second)
        cluster.run(cluster.now() + 100, false);
      return cluster.now() - begin;
    };
    const Nanoseconds first = exchange();
    return std::pair(first, exchange());
  };
  const auto [first, later] = times("0");
  const auto [first_asked, later_asked] = times("ask");
  EXPECT_EQ(later_asked, later);
  EXPECT_GT(first_asked, first);
  EXPECT_LE(first_asked, 2 * first);  // the handshake is a round trip and a half, with queue pairs to be made
  RecordProperty("first_ns", static_cast<int>(first));
  RecordProperty("first_asked_ns", static_cast<int>(first_asked));
}

TEST(ServiceLevels, AQueryThatIsLostIsRepeated) {
  ClusterOptions options = layered();
  RailCluster cluster(options);
  cluster.inject("link n0/hw0 loss 0.1");
  cluster.inject("link n0/hw1 loss 0.1");
  cluster.inject_at(200 * millisecond, "link n0/hw0 clear");
  cluster.inject_at(200 * millisecond, "link n0/hw1 clear");
  all_to_all(cluster, 2);
  EXPECT_TRUE(cluster.run(60 * second)) << cluster.describe();
  EXPECT_GT(queries(cluster), 24u);
  EXPECT_EQ(cluster.fabric().packets_off_level(), 0u);
  finish(cluster);
}

// The first that arrives at the asking port is its answer.
TEST(ServiceLevels, AnAnswerThatMakesNoSenseIsDroppedAndCounted) {
  ClusterOptions options = layered();
  options.hosts = 2;
  options.rails = 1;
  RailCluster cluster(options);
  cluster.inject("payload n1/hw0 corrupt 2");
  cluster.at(1).post({.to = 0, .bytes = 1000});
  EXPECT_TRUE(cluster.run(second)) << cluster.describe();
  EXPECT_GE(cluster.now(), 20 * millisecond);  // until the query is repeated
  finish(cluster);
  EXPECT_GE(cluster.at(1).channel().counters().dropped_malformed, 1u);
  EXPECT_EQ(cluster.fabric().packets_off_level(), 0u);
}

TEST(ServiceLevels, APortOutsideThePartitionIsNamed) {
  ClusterOptions options = layered();
  options.knobs.rail_partition = "0x8001";
  RailCluster cluster(options);
  EXPECT_NE(cluster.failure().find("hw0 port 1 is not in partition 0x8001"), std::string::npos)
      << cluster.failure();
}

TEST(ServiceLevels, TheDefaultPartitionMayBeNamed) {
  ClusterOptions options = layered();
  options.knobs.rail_partition = "0x7fff";
  RailCluster cluster(options);
  exchange(cluster);
  EXPECT_EQ(cluster.fabric().packets_off_level(), 0u);
  finish(cluster);
}

}  // namespace
}  // namespace hawser::rails_test
