// The data path without faults: every kind of message arrives once, in order, with its bytes.
#include <gtest/gtest.h>

#include "base/random.h"
#include "rails/rail_cluster.h"

namespace hawser::rails_test {
namespace {

ClusterOptions plain(int rails = 2) {
  ClusterOptions options;
  options.rails = rails;
  options.parameters.link_latency = 2 * microsecond;
  return options;
}

void expect_done(RailCluster& cluster, Nanoseconds within = 10 * second) {
  EXPECT_TRUE(cluster.run(cluster.now() + within)) << cluster.describe();
  EXPECT_TRUE(cluster.settle(cluster.now() + second)) << cluster.describe();
}

TEST(RailDataPath, OneSmallMessage) {
  RailCluster cluster(plain());
  cluster.at(0).post({1, 8});
  expect_done(cluster);
  EXPECT_EQ(cluster.at(1).arrived, 1u);
}

TEST(RailDataPath, ManySmallMessagesStayInOrderOverFourRails) {
  ClusterOptions options = plain(4);
  options.knobs.rail_policy = "round_robin";
  RailCluster cluster(options);
  for (int i = 0; i < 2000; ++i) cluster.at(0).post({1, i % 4000});
  for (int i = 0; i < 500; ++i) cluster.at(1).post({0, i});
  expect_done(cluster);
  EXPECT_EQ(cluster.at(1).arrived, 2000u);
  EXPECT_EQ(cluster.at(0).arrived, 500u);
}

class RailRendezvous : public testing::TestWithParam<std::string> {};

TEST_P(RailRendezvous, EveryShapeOfLargeMessage) {
  ClusterOptions options = plain();
  options.knobs.rail_rendezvous = GetParam();
  options.parameters.link_rate = 1e9;
  RailCluster cluster(options);
  const std::int64_t mib = 1 << 20;
  cluster.at(0).post({1, mib, true});
  cluster.at(0).post({1, mib, true, mib / 2});
  cluster.at(0).post({1, mib, true, 0});
  cluster.at(0).post({1, 12345, true, -1, true, false});
  cluster.at(0).post({1, 12345, true, -1, false, true});
  cluster.at(0).post({1, 12345, true, 777, true, true});
  cluster.at(0).post({1, 3 * mib + 1, true, -1, false, false, 300 * microsecond});
  cluster.at(1).post({0, 1, true});
  expect_done(cluster);
  EXPECT_EQ(cluster.at(1).arrived, 7u);
  EXPECT_GE(
      cluster.at(0).channel().counters().stripes_written + cluster.at(1).channel().counters().stripes_read,
      8u);
}
INSTANTIATE_TEST_SUITE_P(Both, RailRendezvous, testing::Values("read", "write"));

TEST(RailDataPath, FourProcessesTwoPathsTwoEngines) {
  ClusterOptions options = plain();
  options.hosts = 4;
  options.topology = "single-switch";
  options.parameters.lmc = 1;
  options.knobs.rail_paths = "2";
  options.knobs.rail_engines = "2";
  RailCluster cluster(options);
  Random random(5);
  for (int i = 0; i < 400; ++i) {
    const int from = static_cast<int>(random.below(4));
    const int to = (from + 1 + static_cast<int>(random.below(3))) % 4;
    const bool exposed = random.chance(0.4);
    cluster.at(from).post({to, static_cast<std::int64_t>(random.below(exposed ? 200000 : 8000)), exposed});
  }
  expect_done(cluster);
}

// MR-6: what two rails of 200 MB/s carry together.
TEST(RailDataPath, TwoRailsCarryTheSum) {
  for (const std::int64_t bytes : {1 << 20, 256 << 10})
    for (const char* protocol : {"read", "write"}) {
      ClusterOptions options = plain();
      options.knobs.rail_rendezvous = protocol;
      options.parameters.link_rate = 200e6;
      options.parameters.chunk = 16384;
      RailCluster cluster(options);
      cluster.at(0).post({1, 8, false});
      expect_done(cluster);
      const Nanoseconds start = cluster.now();
      const int count = 50;
      for (int i = 0; i < count; ++i) cluster.at(0).post({1, bytes, true});
      ASSERT_TRUE(cluster.run(start + 10 * second)) << cluster.describe();
      const double rate =
          static_cast<double>(bytes * count) / static_cast<double>(cluster.now() - start) * 1e3;
      RecordProperty(std::string(protocol) + std::to_string(bytes), std::to_string(rate));
      EXPECT_GT(rate, 0.97 * 400) << protocol << ' ' << bytes;
      EXPECT_LT(rate, 401) << protocol;
    }
}

// Requests of one direction must find their way between the data of the other, in chunks as coarse as the
// emulator's.
TEST(RailDataPath, BothWaysCarryTheSum) {
  for (const char* protocol : {"read", "write"})
    for (const int rails : {2, 4})
      for (const std::int64_t bytes : {1 << 20, 256 << 10}) {
        ClusterOptions options = plain(rails);
        options.topology = "two-switch";
        options.parameters.link_rate = 200e6;
        options.parameters.chunk = 65536;
        options.knobs.rail_rendezvous = protocol;
        RailCluster cluster(options);
        for (int i : {0, 1}) cluster.at(i).post({1 - i, 8, false});
        expect_done(cluster);
        const Nanoseconds start = cluster.now();
        const auto count = static_cast<int>(rails * (24 << 20) / bytes);
        for (int n = 0; n < count; ++n)
          for (int i : {0, 1})
            cluster.at(i).post(
                {.to = 1 - i, .bytes = bytes, .exposed = true, .traffic = TrafficClass::nonblocking});
        ASSERT_TRUE(cluster.run(start + 10 * second)) << cluster.describe();
        const Nanoseconds end = std::max(cluster.at(0).last_arrival, cluster.at(1).last_arrival);
        const double rate =
            static_cast<double>(2 * bytes * count) / static_cast<double>(end - start) * 1e3 / rails;
        RecordProperty(protocol + std::to_string(rails) + "x" + std::to_string(bytes), std::to_string(rate));
        EXPECT_GT(rate, 0.97 * 400) << protocol << ' ' << rails << " rails, " << bytes;
        EXPECT_LT(rate, 401) << protocol << ' ' << rails << " rails, " << bytes;
      }
}

// Windows of messages from 0 to 1, each closed by a short answer; in MB/s.
double windows(RailCluster& cluster, std::int64_t bytes, int messages, int windows) {
  const Nanoseconds start = cluster.now();
  for (int w = 0; w < windows; ++w) {
    for (int i = 0; i < messages; ++i) cluster.at(0).post({1, bytes, true});
    EXPECT_TRUE(cluster.run(cluster.now() + 60 * second)) << cluster.describe();
    cluster.at(1).post({0, 8, false});
    EXPECT_TRUE(cluster.run(cluster.now() + second)) << cluster.describe();
  }
  return static_cast<double>(bytes * messages * windows) / static_cast<double>(cluster.now() - start) * 1e3;
}

// A slow rail beside a fast one, whose nominal rate says nothing of it, as Ethernet's beside InfiniBand.
TEST(RailDataPath, UnlikeRailsCarryTheSum) {
  for (const char* protocol : {"read", "write"})
    for (const std::int64_t bytes : {4 << 20, 1 << 20}) {
      ClusterOptions options = plain();
      options.topology = "two-switch";
      options.parameters.link_rate = 200e6;
      options.parameters.chunk = 65536;
      options.knobs.rail_rendezvous = protocol;
      RailCluster cluster(options);
      cluster.inject("link n0/hw1 rate 12.5%");
      cluster.at(0).post({1, 8, false});
      expect_done(cluster);
      const double first = windows(cluster, bytes, 32, 1);
      const double later = windows(cluster, bytes, 32, 3);
      RecordProperty(std::string(protocol) + std::to_string(bytes),
                     std::to_string(first) + ", " + std::to_string(later));
      EXPECT_GT(later, 0.97 * 225) << protocol << ' ' << bytes;
      // Writes wait for what is learned from those before them.
      if (protocol == std::string("write")) {
        EXPECT_GT(first, 0.95 * 225) << bytes;
        for (const std::string state : {"down", "up"}) {
          for (const char* rail : {"hw0 ", "hw1 "}) cluster.inject("link n0/" + (rail + state));
          for (int i = 0; i < 8; ++i) cluster.at(0).post({1, bytes, true});
          cluster.run(cluster.now() + 5 * second, state == "up");
        }
        EXPECT_GT(windows(cluster, bytes, 32, 1), 0.95 * 225) << "after both were cut: " << bytes;
      }
    }
}

// A process that computes for long without looking at its network is no failure, however much is sent to it.
TEST(RailDataPath, PeerThatComputesIsWaitedFor) {
  for (const char* protocol : {"read", "write"}) {
    ClusterOptions options = plain();
    options.hosts = 4;
    options.topology = "single-switch";
    options.knobs.rail_rendezvous = protocol;
    RailCluster cluster(options);
    for (int from : {0, 2, 3})
      for (int i = 0; i < 100; ++i) {
        cluster.at(from).post({1, i % 4 == 0 ? 50000 : 500, i % 4 == 0});
        cluster.at(1).post({from, 60000, true});
      }
    cluster.run(cluster.now() + 300 * microsecond, false);
    cluster.at(1).computes_until = cluster.now() + 5 * second;
    cluster.run(cluster.now() + 6 * second, false);
    expect_done(cluster);
    for (int i = 0; i < 4; ++i)
      EXPECT_EQ(cluster.at(i).channel().counters().failures, 0u) << cluster.describe();
  }
}

}  // namespace
}  // namespace hawser::rails_test
