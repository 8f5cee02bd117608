// Failures one by one: traffic goes on over what is left within the stated time, nothing is lost, doubled or
// written late, and what failed comes back.
#include <gtest/gtest.h>

#include "rails/traffic.h"

namespace hawser::rails_test {
namespace {

class RailFailover : public testing::TestWithParam<const char*> {
 protected:
  ClusterOptions options(const char* topology = "two-switch") {
    ClusterOptions made = two_rails(topology);
    made.knobs.rail_rendezvous = GetParam();
    return made;
  }
};

TEST_P(RailFailover, LocalPortDownCostsAtMostFiveMilliseconds) {
  RailCluster cluster(options("back-to-back"));
  stream(cluster, 20 * millisecond);
  start_measuring(cluster);
  cluster.inject("link n0/hw0 down");
  stream(cluster, 50 * millisecond);
  EXPECT_LE(longest_gap(cluster), 5 * millisecond) << cluster.describe();
  RecordProperty("microseconds", static_cast<int>(longest_gap(cluster) / microsecond));
  expect_all_well(cluster);
  EXPECT_GE(sum(cluster, &RailCounters::failures), 2u);
}

TEST_P(RailFailover, RemotePortDownCostsAtMostHundredMilliseconds) {
  RailCluster cluster(options());
  stream(cluster, 20 * millisecond);
  start_measuring(cluster);
  cluster.inject("link n1/hw1 blackhole both");  // nobody is told
  stream(cluster, 300 * millisecond);
  EXPECT_LE(longest_gap(cluster), 100 * millisecond) << cluster.describe();
  RecordProperty("microseconds", static_cast<int>(longest_gap(cluster) / microsecond));
  expect_all_well(cluster);
}

// What was under way goes before what was not begun: a receiver waits for the oldest.
TEST(RailReissue, OldestFirst) {
  ClusterOptions options = two_rails();
  options.knobs.rail_rendezvous = "write";
  RailCluster cluster(options);
  cluster.inject("link n0/hw1 rate 12.5%");
  for (int i = 0; i < 60; ++i) cluster.at(0).post({1, 1 << 20, true});
  cluster.run(cluster.now() + 150 * millisecond, false);  // the rates are known
  cluster.at(1).overtaking = 0;
  cluster.inject("link n0/hw0 down");
  expect_all_well(cluster);
  EXPECT_EQ(cluster.at(1).arrived, 60u);
  EXPECT_LE(cluster.at(1).overtaking, 4u);
}

TEST_P(RailFailover, SwitchDiesAndComesBack) {
  RailCluster cluster(options());
  stream(cluster, 20 * millisecond);
  cluster.inject("switch switch1 dead");
  stream(cluster, 200 * millisecond);
  EXPECT_GE(sum(cluster, &RailCounters::failures), 2u) << cluster.describe();
  cluster.inject("switch switch1 alive");
  stream(cluster, 1200 * millisecond);
  expect_all_well(cluster);
  EXPECT_EQ(sum(cluster, &RailCounters::recoveries), 2u) << cluster.describe();
}

TEST_P(RailFailover, LostAcknowledgementsMakeNoDuplicates) {
  RailCluster cluster(options());
  stream(cluster, 20 * millisecond);
  for (const char* rail : {"n0/hw0", "n0/hw1"}) {
    cluster.inject(std::string("acks ") + rail + " lose");
    // Small messages only: the answer to an RDMA read acknowledges what went before it, too.
    for (int i = 0; i < 40; ++i) {
      cluster.at(0).post({1, 100});
      cluster.run(cluster.now() + 5 * millisecond, false);
    }
    cluster.inject(std::string("acks ") + rail + " keep");
  }
  expect_all_well(cluster);
  EXPECT_GE(sum(cluster, &RailCounters::already_arrived), 1u) << cluster.describe();
}

TEST_P(RailFailover, WatchdogFindsARequestThatHangs) {
  RailCluster cluster(options());
  stream(cluster, 20 * millisecond);
  cluster.inject("qp n0/hw0 all hang");
  stream(cluster, 1500 * millisecond);
  expect_all_well(cluster);
  EXPECT_GE(sum(cluster, &RailCounters::watchdog), 1u) << cluster.describe();
  EXPECT_GE(sum(cluster, &RailCounters::recoveries), 2u) << cluster.describe();
}

// Who computed for long finds more completions than one look takes; none of them is late.
TEST_P(RailFailover, WatchdogForgivesAProcessThatWasAway) {
  ClusterOptions made = options();
  made.parameters.link_rate = 0;  // the arrivals come before the answers to what was sent
  RailCluster cluster(made);
  stream(cluster, 5 * millisecond);
  for (int i = 0; i < 60; ++i) cluster.at(1).post({0, 100});
  for (int i = 0; i < 4; ++i) cluster.at(0).post({1, 100});
  cluster.run(cluster.now() + 1 * microsecond, false);
  cluster.at(0).computes_until = cluster.now() + 2 * second;
  expect_all_well(cluster);
  EXPECT_EQ(sum(cluster, &RailCounters::watchdog), 0u) << cluster.describe();
}

TEST_P(RailFailover, WatchdogForgivesWhatIsSentOnComingBack) {
  RailCluster cluster(options());
  stream(cluster, 5 * millisecond);
  expect_all_well(cluster);
  cluster.at(0).computes_until = cluster.now() + 2 * second;
  cluster.run(cluster.now() + second, false);
  cluster.at(0).computes_until = 0;
  for (int i = 0; i < 4; ++i) cluster.at(0).post({1, 100});
  cluster.at(0).send_between_looks();
  expect_all_well(cluster);
  EXPECT_EQ(sum(cluster, &RailCounters::watchdog), 0u) << cluster.describe();
}

// Who never looked, or not for long, and then asks for a peer for the first time has not waited for it.
TEST_P(RailFailover, GivesUpOnlyAfterItHasWaited) {
  ClusterOptions made = options();
  made.knobs.rail_give_up = second;
  RailCluster cluster(made);
  cluster.at(0).computes_until = 100 * second;
  cluster.run(50 * second, false);
  cluster.at(0).computes_until = 0;
  for (int i = 0; i < 4; ++i) cluster.at(0).post({1, 100});
  cluster.at(0).send_between_looks();
  expect_all_well(cluster);
  EXPECT_TRUE(cluster.at(0).lost.empty() && cluster.at(1).lost.empty());
}

TEST_P(RailFailover, PartitionEndsWithWhicheverRailReturnsFirst) {
  RailCluster cluster(options());
  stream(cluster, 20 * millisecond);
  cluster.inject("switch switch0 dead");
  stream(cluster, 5 * millisecond);
  cluster.inject("switch switch1 dead");
  stream(cluster, 50 * millisecond);
  cluster.run(cluster.now() + 3 * second, false);
  EXPECT_EQ(sum(cluster, &RailCounters::partitions), 2u) << cluster.describe();
  cluster.inject("switch switch1 alive");
  expect_all_well(cluster);
  EXPECT_TRUE(cluster.at(0).lost.empty());
}

TEST_P(RailFailover, OnlyThePortThatFailedIsGivenUp) {
  ClusterOptions wanted = options("back-to-back");
  wanted.rails = 1;
  wanted.ports = 2;
  wanted.knobs.rail_migration = "off";
  RailCluster cluster(wanted);
  stream(cluster, 20 * millisecond);
  cluster.inject("link n0/hw0:2 down");
  stream(cluster, 100 * millisecond);
  EXPECT_EQ(sum(cluster, &RailCounters::failures), 2u) << cluster.describe();
  EXPECT_EQ(sum(cluster, &RailCounters::partitions), 0u) << cluster.describe();
  cluster.inject("link n0/hw0:2 up");
  expect_all_well(cluster);
}

TEST_P(RailFailover, AddressThatMovesIsFoundAgain) {
  RailCluster cluster(options("single-switch"));
  stream(cluster, 20 * millisecond);
  cluster.inject("lid n1/hw0 77");
  stream(cluster, 1500 * millisecond);
  expect_all_well(cluster);
  EXPECT_GE(sum(cluster, &RailCounters::recoveries), 2u) << cluster.describe();
}

// It acknowledges packets and stripes that never reach the peer's memory, and then dies with them.
TEST_P(RailFailover, WhatADyingAdapterAcknowledgedIsSentAgain) {
  ClusterOptions wanted = options();
  wanted.knobs.rail_policy = "round_robin";
  RailCluster cluster(wanted);
  stream(cluster, 20 * millisecond);
  expect_all_well(cluster);
  for (int i = 0; i < 8; ++i) cluster.at(0).post({1, 65536, true});
  cluster.run(cluster.now() + 500 * microsecond, false);  // some of it is on its way
  cluster.inject("adapter n1/hw1 dying");
  for (int i = 0; i < 20; ++i) cluster.at(0).post({1, 8000});
  cluster.run(cluster.now() + 2 * millisecond, false);
  cluster.inject("adapter n1/hw1 dead");
  stream(cluster, 100 * millisecond);
  expect_all_well(cluster);
  EXPECT_GE(sum(cluster, &RailCounters::taken_back), 5u) << cluster.describe();
  const bool writes = GetParam() == std::string_view("write");
  EXPECT_GE(cluster.at(writes ? 0 : 1).channel().counters().stripes_reissued, 1u) << cluster.describe();
  EXPECT_TRUE(cluster.at(0).lost.empty() && cluster.at(1).lost.empty());
}

// Dead for a while: opened again, its rails carry data as before, with keys and addresses of a new device
// generation.
TEST_P(RailFailover, AnAdapterThatComesBackIsOpenedAgain) {
  RailCluster cluster(options());
  stream(cluster, 20 * millisecond);
  for (const char* adapter : {"adapter n0/hw0", "adapter n1/hw1"}) {
    cluster.inject(std::string(adapter) + " dead");
    stream(cluster, 30 * millisecond);
    cluster.inject(std::string(adapter) + " alive");
    stream(cluster, 400 * millisecond);
    for (int i = 0; i < 2; ++i)
      for (const char* rail : {"rail 0", "rail 1"})
        EXPECT_NE(cluster.at(i).channel().describe().find(std::string(rail) + " (up): ready"),
                  std::string::npos)
            << adapter << cluster.describe();
  }
  EXPECT_EQ(sum(cluster, &RailCounters::adapters_reopened), 2u) << cluster.describe();
  EXPECT_EQ(sum(cluster, &RailCounters::protection_errors), 0u);
  EXPECT_EQ(sum(cluster, &RailCounters::partitions), 0u) << cluster.describe();
  expect_all_well(cluster);
}

// The only one, in the middle of long transfers both ways, and with some that nobody has asked for yet: their
// peers need the new keys.
TEST_P(RailFailover, TheOnlyAdapterComesBackInTheMiddleOfTransfers) {
  ClusterOptions wanted = options("single-switch");
  wanted.rails = 1;
  RailCluster cluster(wanted);
  for (int turn = 0; turn < 2; ++turn) {
    for (int from = 0; from < 2; ++from) {
      cluster.at(from).post({1 - from, 4'000'000, true});
      MessageShape late{1 - from, 100'000, true};
      late.fetch_after = 40 * millisecond;
      cluster.at(from).post(late);
      late.packed_source = late.packed_target = true;
      cluster.at(from).post(late);
    }
    cluster.run(cluster.now() + 10 * millisecond, false);
    const std::string adapter = turn == 0 ? "adapter n1/hw0" : "adapter n0/hw0";
    cluster.inject(adapter + " dead");
    cluster.run(cluster.now() + 50 * millisecond, false);
    cluster.inject(adapter + " alive");
    expect_all_well(cluster);
  }
  EXPECT_EQ(sum(cluster, &RailCounters::adapters_reopened), 2u) << cluster.describe();
  EXPECT_EQ(sum(cluster, &RailCounters::protection_errors), 0u);
}

// Addresses that change before anybody asked for a connection.
TEST_P(RailFailover, StrangersAreToldOfNewAddresses) {
  for (const char* fault : {"lid n1/hw0 77", "adapter n1/hw0 dead"}) {
    ClusterOptions wanted = options("single-switch");
    wanted.rails = 1;
    RailCluster cluster(wanted);
    cluster.run(cluster.now() + millisecond, false);
    cluster.inject(fault);
    cluster.run(cluster.now() + 100 * millisecond, false);
    cluster.inject("adapter n1/hw0 alive");
    cluster.run(cluster.now() + 500 * millisecond, false);
    cluster.at(0).post({1, 100});
    EXPECT_TRUE(cluster.run(cluster.now() + 200 * millisecond)) << fault << cluster.describe();
    expect_all_well(cluster);
  }
}

// Two move at once, so that neither finds the other; a third one knows both.
TEST_P(RailFailover, WhereAPeerIsCanBeAskedOfOthers) {
  ClusterOptions wanted = options("single-switch");
  wanted.rails = 1;
  wanted.hosts = 3;
  RailCluster cluster(wanted);
  const auto all_to_all = [&] {
    for (int from = 0; from < 3; ++from)
      for (int to = 0; to < 3; ++to)
        if (from != to) cluster.at(from).post({to, 65536, true});
  };
  all_to_all();
  EXPECT_TRUE(cluster.run(cluster.now() + second)) << cluster.describe();
  cluster.inject("lid n0/hw0 70");
  cluster.inject("lid n1/hw0 80");
  all_to_all();
  EXPECT_TRUE(cluster.run(cluster.now() + 20 * second)) << cluster.describe();
  expect_all_well(cluster);
}

// It moved after it had said where it is, and before it did anything else.
TEST_P(RailFailover, WhoMovedBeforeItsFirstPassTellsOthers) {
  ClusterOptions wanted = options("single-switch");
  wanted.rails = 1;
  wanted.hosts = 3;
  RailCluster cluster(wanted);
  cluster.inject("lid n1/hw0 80");
  cluster.at(1).post({2, 100});
  EXPECT_TRUE(cluster.run(cluster.now() + 20 * millisecond)) << cluster.describe();
  cluster.at(0).post({1, 100});
  EXPECT_TRUE(cluster.run(cluster.now() + 20 * millisecond)) << cluster.describe();
  expect_all_well(cluster);
}

// What is kept until the peer's software has it goes when there is time, though nothing else is said.
TEST_P(RailFailover, NothingIsKeptForAPeerThatIsSilent) {
  RailCluster cluster(options());
  for (int i = 0; i < 20; ++i) cluster.at(0).post({1, 8000});
  EXPECT_TRUE(cluster.run(cluster.now() + second)) << cluster.describe();
  EXPECT_EQ(cluster.at(0).channel().sequence_counters(1).under_way, 20u);
  // Somebody looks now and then, as a process does that polls.
  for (int i = 0; i < 3; ++i) {
    cluster.inject_at(cluster.now() + 200 * millisecond, "sm change");
    cluster.run(cluster.now() + 300 * millisecond, false);
  }
  EXPECT_EQ(cluster.at(0).channel().sequence_counters(1).under_way, 0u) << cluster.describe();
}

TEST_P(RailFailover, OffLosesThePeerAtTheFirstError) {
  ClusterOptions wanted = options("back-to-back");
  wanted.knobs.rail_failover = false;
  RailCluster cluster(wanted);
  stream(cluster, 20 * millisecond);
  cluster.inject("link n0/hw0 down");
  stream(cluster, 100 * millisecond);
  EXPECT_EQ(cluster.at(0).lost, std::vector<ProcessIndex>{1});
  EXPECT_EQ(cluster.at(1).lost, std::vector<ProcessIndex>{0});
}

TEST_P(RailFailover, GivesAPeerUpWhenToldTo) {
  ClusterOptions wanted = options();
  wanted.knobs.rail_give_up = 300 * millisecond;
  RailCluster cluster(wanted);
  stream(cluster, 20 * millisecond);
  cluster.inject("switch switch0 dead");
  cluster.inject("switch switch1 dead");
  stream(cluster, 200 * millisecond);
  EXPECT_TRUE(cluster.at(0).lost.empty());
  stream(cluster, 400 * millisecond);
  EXPECT_EQ(cluster.at(0).lost, std::vector<ProcessIndex>{1});
  EXPECT_GE(cluster.at(0).failed_transfers, 1);
}

// With settings as they are. The other end goes on waiting: it cannot know what its peer can.
TEST_P(RailFailover, GivesAllUpWhenNoAdapterIsLeft) {
  RailCluster cluster(options());
  stream(cluster, 20 * millisecond);
  cluster.inject("adapter n0/hw0 dead");
  cluster.inject("adapter n0/hw1 dead");
  stream(cluster, 20 * millisecond);
  cluster.run(cluster.now() + 59 * second, false);
  EXPECT_TRUE(cluster.at(0).lost.empty());
  cluster.run(cluster.now() + 3 * second, false);
  EXPECT_EQ(cluster.at(0).lost, std::vector<ProcessIndex>{1});
  EXPECT_TRUE(cluster.at(1).lost.empty());
}

TEST_P(RailFailover, AnAdapterThatComesBackInTimeEndsTheWait) {
  RailCluster cluster(options());
  stream(cluster, 20 * millisecond);
  cluster.inject("adapter n0/hw0 dead");
  cluster.run(cluster.now() + 50 * second, false);
  cluster.inject("adapter n0/hw1 dead");
  cluster.run(cluster.now() + 50 * second, false);
  cluster.inject("adapter n0/hw0 alive");
  cluster.run(cluster.now() + 70 * second, false);
  EXPECT_TRUE(cluster.at(0).lost.empty());
  cluster.inject("adapter n0/hw1 alive");
  expect_all_well(cluster);
}
INSTANTIATE_TEST_SUITE_P(Both, RailFailover, testing::Values("read", "write"));

// A fence that is not answered is repeated, but not over the connection on which the last one waits: it would
// fill the receives of a peer that computes.
TEST(RailRecovery, FencesDoNotFillTheReceivesOfWhoComputes) {
  EXPECT_LE(packets_left_with_who_computes(), 2u);
}

// A path that small packets pass but data does not must not be taken back.
TEST(RailRecovery, PathThatFailsItsProbeStaysOut) { EXPECT_EQ(readmissions_to_a_lossy_path(), 0u); }

// Damage on the way is seen, and what was damaged is moved again over another path.
TEST(RailChecksum, DamagedPacketsAndStripesAreMovedAgain) {
  ClusterOptions options = two_rails();
  options.knobs.checksum = true;
  RailCluster cluster(options);
  stream(cluster, 20 * millisecond);
  for (int i = 0; i < 40; ++i) {
    cluster.inject(i % 2 == 0 ? "payload n1/hw0 corrupt 1" : "payload n0/hw1 corrupt 1");
    stream(cluster, 20 * millisecond);
  }
  EXPECT_GE(sum(cluster, &RailCounters::checksum_errors), 20u) << cluster.describe();
  expect_all_well(cluster);
}

// A checksum is of the whole: who wants a part of a message must not need room for all of it, whose size is
// another process's word.
TEST(RailChecksum, PartsOfMessagesComeInPackets) {
  ClusterOptions options = two_rails();
  options.knobs.checksum = true;
  options.knobs.rail_rendezvous = "read";
  RailCluster cluster(options);
  cluster.at(0).post({1, 1 << 20, true, 30'000});
  cluster.at(0).post({1, 1 << 20, true, 5000, true, true});
  expect_all_well(cluster);
  EXPECT_EQ(cluster.at(1).arrived, 2u);
  EXPECT_EQ(cluster.at(1).channel().counters().stripes_read, 0u);
}

}  // namespace
}  // namespace hawser::rails_test
