// Automatic path migration: what adapters save by themselves is no failure, what they cannot is the
// failover's.
#include "rails/traffic.h"

namespace hawser::rails_test {
namespace {

ClusterOptions two_ports(const char* topology = "back-to-back") {
  ClusterOptions options = two_rails(topology);
  options.rails = 1;
  options.ports = 2;
  return options;
}

// Arms what can be armed.
void warm_up(RailCluster& cluster) {
  stream(cluster, 20 * millisecond);
  ASSERT_GE(sum(cluster, &RailCounters::alternates_armed), 2u) << cluster.describe();
}

TEST(RailMigration, CablePulledIsNoFailureWhereTheAdapterHasAnotherPort) {
  RailCluster cluster(two_ports());
  warm_up(cluster);
  start_measuring(cluster);
  cluster.inject("link n0/hw0:1 down");
  stream(cluster, 100 * millisecond);
  EXPECT_LE(longest_gap(cluster), 5 * millisecond) << cluster.describe();
  EXPECT_EQ(sum(cluster, &RailCounters::migrations), 2u) << cluster.describe();
  // The port is back: so is the connection, with what it had before.
  cluster.inject("link n0/hw0:1 up");
  stream(cluster, 2 * second, 0, 1, 5 * millisecond);
  EXPECT_EQ(sum(cluster, &RailCounters::migrations), 4u) << cluster.describe();
  cluster.inject("link n1/hw0:2 down");
  stream(cluster, 100 * millisecond);
  EXPECT_EQ(sum(cluster, &RailCounters::migrations), 6u) << cluster.describe();
  EXPECT_EQ(sum(cluster, &RailCounters::failures), 0u) << cluster.describe();
  expect_all_well(cluster);
}

// The end that is read from sends nothing by itself, and the other one is not told of the port.
TEST(RailMigration, EndThatOnlyAnswersTellsThePeerThatItMigrated) {
  for (const char* const pulled : {"n0/hw0:1", "n1/hw0:1", "n0/hw0:2"}) {
    ClusterOptions options = two_ports("single-switch");
    options.parameters.link_rate = 880e6;
    RailCluster cluster(options);
    warm_up(cluster);
    cluster.run(cluster.now() + second);
    cluster.at(0).post({1, 16 << 20, true});
    cluster.run(cluster.now() + 3 * millisecond, false);
    cluster.inject(std::string("link ") + pulled + " down");
    // One port needs 19 ms for all of it.
    EXPECT_TRUE(cluster.run(cluster.now() + 40 * millisecond)) << pulled << ": " << cluster.describe();
    EXPECT_EQ(sum(cluster, &RailCounters::failures), 0u) << cluster.describe();
    expect_all_well(cluster);
  }
}

// The end that decides is told of the port by its adapter or by the other end.
TEST(RailMigration, PortThatIsBackIsUsedAtOnce) {
  for (const char* const pulled : {"n0/hw0:1", "n1/hw0:1"}) {
    RailCluster cluster(two_ports("single-switch"));
    warm_up(cluster);
    cluster.inject(std::string("link ") + pulled + " down");
    stream(cluster, 700 * millisecond, 0, 1, 5 * millisecond);
    EXPECT_EQ(sum(cluster, &RailCounters::migrations), 2u) << pulled << ": " << cluster.describe();
    cluster.inject(std::string("link ") + pulled + " up");
    stream(cluster, 20 * millisecond);
    EXPECT_EQ(sum(cluster, &RailCounters::migrations), 4u) << pulled << ": " << cluster.describe();
    EXPECT_EQ(sum(cluster, &RailCounters::failures), 0u) << cluster.describe();
    expect_all_well(cluster);
  }
}

// Nobody is told, so the adapter's retries have to run out.
TEST(RailMigration, BlackHoleIsNoFailureEither) {
  RailCluster cluster(two_ports("two-switch"));
  warm_up(cluster);
  start_measuring(cluster);
  cluster.inject("link n1/hw0:1 blackhole both");
  stream(cluster, 300 * millisecond);
  EXPECT_LE(longest_gap(cluster), 100 * millisecond) << cluster.describe();
  EXPECT_EQ(sum(cluster, &RailCounters::migrations), 2u) << cluster.describe();
  EXPECT_EQ(sum(cluster, &RailCounters::failures), 0u) << cluster.describe();
  cluster.inject("link n1/hw0:1 clear");
  expect_all_well(cluster);
}

// Of several peers behind a port that fails silently, each would cost 64 ms anew. Computers whose own ports
// are well stay on them.
TEST(RailMigration, OneSilentPeerTellsOfTheOthersBehindThePort) {
  ClusterOptions options = two_ports("single-switch");
  options.hosts = 6;
  RailCluster cluster(options);
  for (int peer = 1; peer < 6; ++peer) stream(cluster, 20 * millisecond, 0, peer);
  stream(cluster, 20 * millisecond, 4, 5);
  ASSERT_TRUE(cluster.run(cluster.now() + second));
  cluster.inject("link n0/hw0:1 blackhole both");
  const Nanoseconds begin = cluster.now();
  // One after the other, as algorithms of collectives go through peers.
  for (int peer = 1; peer < 6; ++peer) {
    for (int i = 0; i < 8; ++i) cluster.at(0).post({peer, 65536, true});
    ASSERT_TRUE(cluster.run(cluster.now() + second)) << cluster.describe();
  }
  EXPECT_LE(cluster.now() - begin, 160 * millisecond) << cluster.describe();
  stream(cluster, 20 * millisecond, 4, 5);
  EXPECT_EQ(cluster.at(4).channel().counters().migrations, 1u) << cluster.describe();
  EXPECT_EQ(sum(cluster, &RailCounters::failures), 0u) << cluster.describe();
  cluster.inject("link n0/hw0:1 clear");
  expect_all_well(cluster);
}

// Alternates over one port: other path bits, which lead over another spine. Every cable of a leaf's is cut
// once; with one rail and one path, software would have nowhere to go.
TEST(RailMigration, PathsOfOnePortGoRoundABrokenSpine) {
  ClusterOptions options = two_rails("fat-tree-144");
  options.hosts = 13;
  options.rails = 1;
  options.parameters.lmc = 1;
  RailCluster cluster(options);
  stream(cluster, 20 * millisecond, 0, 12);
  for (int port = 13; port <= 24; ++port) {
    cluster.inject("link LEAF00:" + std::to_string(port) + " blackhole both");
    stream(cluster, 150 * millisecond, 0, 12, 2 * millisecond);
    cluster.inject("link LEAF00:" + std::to_string(port) + " clear");
    stream(cluster, 50 * millisecond, 0, 12, 2 * millisecond);
  }
  EXPECT_GE(sum(cluster, &RailCounters::migrations), 4u) << cluster.describe();
  EXPECT_EQ(sum(cluster, &RailCounters::failures), 0u) << cluster.describe();
  expect_all_well(cluster);
}

TEST(RailMigration, WhatTheAdapterCannotSaveIsLeftToTheFailover) {
  ClusterOptions options = two_ports();
  options.rails = 2;
  RailCluster cluster(options);
  warm_up(cluster);
  start_measuring(cluster);
  cluster.inject("link n0/hw0:1 blackhole both");
  cluster.inject("link n0/hw0:2 blackhole both");
  stream(cluster, 300 * millisecond);
  // Retries on both routes, one after the other, and the fence.
  EXPECT_LE(longest_gap(cluster), 100 * millisecond) << cluster.describe();
  EXPECT_GE(sum(cluster, &RailCounters::failures), 2u) << cluster.describe();
  cluster.inject("link n0/hw0:1 clear");
  cluster.inject("link n0/hw0:2 clear");
  stream(cluster, 2 * second, 0, 1, 5 * millisecond);
  EXPECT_GE(sum(cluster, &RailCounters::recoveries), 2u) << cluster.describe();
  expect_all_well(cluster);
}

TEST(RailMigration, PortThatFlapsIsLeftAloneForLonger) {
  RailCluster cluster(two_ports());
  warm_up(cluster);
  for (int i = 0; i < 40; ++i) {
    cluster.inject("link n0/hw0:1 down");
    stream(cluster, 50 * millisecond, 0, 1, 5 * millisecond);
    cluster.inject("link n0/hw0:1 up");
    stream(cluster, 100 * millisecond, 0, 1, 5 * millisecond);
  }
  EXPECT_LE(sum(cluster, &RailCounters::migrations), 20u) << cluster.describe();
  expect_all_well(cluster);
}

TEST(RailMigration, NothingIsLoadedWhereItIsOffOrHasNoAlternate) {
  ClusterOptions off = two_ports();
  off.knobs.rail_migration = "off";
  for (const ClusterOptions& options : {off, two_rails()}) {
    RailCluster cluster(options);
    stream(cluster, 50 * millisecond);
    EXPECT_EQ(sum(cluster, &RailCounters::alternates_armed), 0u);
    expect_all_well(cluster);
  }
}

TEST(RailMigration, KnobOfNonsenseIsAnError) {
  ClusterOptions options = two_ports();
  options.knobs.rail_migration = "sometimes";
  RailCluster cluster(options);
  EXPECT_NE(cluster.failure().find("HAWSER_RAIL_MIGRATION=sometimes: must be"), std::string::npos)
      << cluster.failure();
}

}  // namespace
}  // namespace hawser::rails_test
