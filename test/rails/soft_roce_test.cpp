// What a first run over a real kernel's verbs (soft RoCE, rdma_rxe) found, on a virtual fabric that does the
// same: addresses of several kinds that come and go, retries without end, short messages, datagrams without
// end, neighbours that do not answer.
#include <gtest/gtest.h>

#include "rails/traffic.h"
#include "testbed/linked_provider/linked_provider.h"

namespace hawser::rails_test {
namespace {

// One network for all, so that a port stays active when its peer's is not.
ClusterOptions roce(std::vector<std::string> faults = {}) {
  ClusterOptions options = two_rails("single-switch");
  options.parameters.link_layer = fabric::LinkLayer::ethernet;
  options.before = std::move(faults);
  return options;
}

// Each port with an IPv4 address beside the link-local one, as soft RoCE has them.
std::vector<std::string> addresses() {
  return {"gid n0/hw0 set 1 v2 10.0.0.1", "gid n0/hw1 set 1 v2 10.0.1.1", "gid n1/hw0 set 1 v2 10.0.0.2",
          "gid n1/hw1 set 1 v2 10.0.1.2"};
}

TEST(SoftRoce, ARailIsUsedAgainWhenItsAddressGoesAndComesBack) {
  RailCluster cluster(roce(addresses()));
  stream(cluster, 50 * millisecond);
  cluster.inject("gid n0/hw0 drop 1");
  stream(cluster, 2 * second);
  cluster.inject("gid n0/hw0 set 1 v2 10.0.0.1");
  stream(cluster, 2 * second);
  cluster.inject("link n0/hw1 down");  // only the rail whose address came back is left
  start_measuring(cluster);
  stream(cluster, 300 * millisecond);
  EXPECT_LE(longest_gap(cluster), 150 * millisecond) << cluster.describe();
  EXPECT_EQ(sum(cluster, &RailCounters::partitions), 0u) << cluster.describe();
  expect_all_well(cluster);
}

// It is no reason to cut a connection off that another address than its own comes or goes.
TEST(SoftRoce, AnAddressThatNobodyUsesMayComeAndGo) {
  RailCluster cluster(roce(addresses()));
  stream(cluster, 50 * millisecond);
  for (int i = 0; i < 5; ++i) {
    cluster.inject("gid n0/hw0 set 5 v2 2001:db8::1");
    cluster.inject("gid n1/hw0 drop 0");
    stream(cluster, 50 * millisecond);
    cluster.inject("gid n0/hw0 drop 5");
    cluster.inject("gid n1/hw0 set 0 v2 fe80::77");
    stream(cluster, 50 * millisecond);
  }
  EXPECT_EQ(sum(cluster, &RailCounters::failures), 0u) << cluster.describe();
  expect_all_well(cluster);
}

TEST(SoftRoce, EndsWithUnlikeAddressesConnectByAKindThatBothHave) {
  for (const auto& faults : std::vector<std::vector<std::string>>{
           {"gid n0/hw0 set 1 v2 10.0.0.1", "gid n0/hw1 set 1 v2 10.0.1.1"},
           {"gid n0/hw0 set 1 v1 10.0.0.1", "gid n0/hw1 set 1 v1 10.0.1.1", "gid n1/hw0 drop 0",
            "gid n1/hw1 drop 0", "gid n1/hw0 set 0 v1 10.0.0.2", "gid n1/hw1 set 3 v1 10.0.1.2"},
           {"gid n1/hw0 set 7 v2 2001:db8::1", "gid n1/hw1 set 7 v2 2001:db8::2",
            "gid n0/hw0 set 9 v2 2001:db8::3", "gid n0/hw1 set 9 v2 2001:db8::4", "gid n0/hw0 drop 0",
            "gid n0/hw1 drop 0", "gid n0/hw0 set 2 v2 10.0.0.1"}}) {
    RailCluster cluster(roce(faults));
    stream(cluster, 50 * millisecond);
    expect_all_well(cluster);
    EXPECT_EQ(sum(cluster, &RailCounters::failures), 0u) << faults[0] << cluster.describe();
    EXPECT_GT(cluster.at(1).arrived, 100u) << faults[0];
  }
}

TEST(SoftRoce, ABlackHoleIsFoundThoughSevenRetriesAreForEver) {
  ClusterOptions options = roce();
  options.parameters.endless_retries = true;
  RailCluster cluster(options);
  stream(cluster, 50 * millisecond);
  start_measuring(cluster);
  cluster.inject("link n1/hw0 blackhole both");
  stream(cluster, 400 * millisecond);
  EXPECT_LE(longest_gap(cluster), 100 * millisecond) << cluster.describe();
  expect_all_well(cluster);
}

TEST(SoftRoce, NoStripeIsLongerThanAdaptersTake) {
  for (const char* protocol : {"read", "write"}) {
    ClusterOptions options = roce();
    options.parameters.max_message = 1 << 20;
    options.knobs.rail_rendezvous = protocol;
    RailCluster cluster(options);
    for (int i = 0; i < 2; ++i) cluster.at(0).post({1, 10 << 20, true});
    EXPECT_TRUE(cluster.run(30 * second)) << cluster.describe();
    EXPECT_EQ(sum(cluster, &RailCounters::failures), 0u) << cluster.describe();
    expect_all_well(cluster);
  }
}

// Somebody who knows the Q_Key, but not the secret, sends what he likes.
TEST(SoftRoce, DatagramsWithoutEndTakeASmallPartOfAPass) {
  RailCluster cluster(two_rails());
  stream(cluster, 10 * millisecond);
  const auto stranger = cluster.open_device(1);
  auto datagrams = stranger->make_datagram_queue_pair(1, RailCluster::datagram_key()).value();
  const RailAddress victim = cluster.table(0).rails[0];
  const std::byte nonsense[64] = {};
  int sent = 0;
  for (int i = 0; i < 100; ++i) {
    sent += datagrams->send({victim.port, victim.datagram_queue_pair}, nonsense) ? 1 : 0;
    cluster.let_the_network_run(cluster.now() + millisecond);
  }
  ASSERT_EQ(sent, 100);
  const auto dropped = [&] { return cluster.at(0).channel().counters().dropped_datagrams; };
  std::uint64_t most = 0, all = 0;
  for (int i = 0; i < 100 && all < 100; ++i) {
    cluster.let_the_network_run(cluster.now() + millisecond);
    cluster.at(0).progress(cluster.now());
    most = std::max(most, dropped() - all);
    all = dropped();
  }
  EXPECT_EQ(all, 100u);
  EXPECT_LE(most, 32u);
  expect_all_well(cluster);
}

// A system that lets little memory be locked: large messages, in all shapes, and a burst of small ones.
void expect_all_arrives(std::uint64_t locked_memory, const char* protocol, bool checksum) {
  ClusterOptions options = two_rails();
  options.parameters.link_rate = 2e9;
  options.parameters.locked_memory = locked_memory;
  options.knobs.rail_rendezvous = protocol;
  options.knobs.checksum = checksum;
  RailCluster cluster(options);
  for (const int back : {0, 1}) {
    Endpoint& from = cluster.at(back);
    const int to = 1 - back;
    for (int i = 0; i < 300; ++i) from.post({to, 256 + i});
    for (int i = 0; i < 4; ++i) from.post({to, 4 << 20, true});
    from.post({to, 3 << 20, true, 1 << 20});
    from.post({to, 300'001, true, -1, true, false});
    from.post({to, 2'000'003, true, -1, false, true});
    from.post({to, 1'000'000, true, 777'777, true, true});
    for (int i = 0; i < 300; ++i) from.post({to, 7000});
  }
  expect_all_well(cluster);
  EXPECT_EQ(cluster.at(0).arrived, 608u) << locked_memory << cluster.describe();
  EXPECT_EQ(sum(cluster, &RailCounters::failures), 0u) << cluster.describe();
}

TEST(SoftRoce, LittleLockedMemoryIsSlowButRight) {
  for (const std::uint64_t mebibytes : {1, 2, 4, 8})
    for (const char* protocol : {"read", "write"})
      expect_all_arrives(mebibytes << 20, protocol, protocol == std::string("read") && mebibytes == 4);
}

TEST(SoftRoce, OneEndWithLittleLockedMemoryIsEnoughForPackets) {
  for (const char* protocol : {"read", "write"}) {
    ClusterOptions options = two_rails();
    options.parameters.locked_memory = 6 << 20;
    options.knobs.rail_rendezvous = protocol;
    RailCluster cluster(options);
    cluster.at(0).post({1, 16 << 20, true});
    expect_all_well(cluster);
    EXPECT_GT(sum(cluster, &RailCounters::packets_for_stripes), 1000u);
    EXPECT_GT(sum(cluster, &RailCounters::registrations_refused), 0u);
  }
}

TEST(SoftRoce, PacketsForLargeMessagesOutliveAFailedRail) {
  for (const char* protocol : {"read", "write"}) {
    ClusterOptions options = two_rails();
    options.parameters.locked_memory = 2 << 20;
    options.knobs.rail_rendezvous = protocol;
    RailCluster cluster(options);
    for (int i = 0; i < 4; ++i) cluster.at(i % 2).post({1 - i % 2, 4 << 20, true});
    cluster.inject_at(5 * millisecond, "link n0/hw0 down");
    cluster.inject_at(60 * millisecond, "link n0/hw0 up");
    cluster.inject_at(200 * millisecond, "link n1/hw1 blackhole both");
    expect_all_well(cluster);
    EXPECT_GT(sum(cluster, &RailCounters::packets_for_stripes), 1000u);
    EXPECT_GT(sum(cluster, &RailCounters::failures), 0u);
  }
}

TEST(SoftRoce, TooLittleLockedMemoryIsSaidAtTheStart) {
  ClusterOptions options = two_rails();
  options.parameters.locked_memory = 600 << 10;
  const RailCluster cluster(options);
  EXPECT_NE(cluster.failure().find("ibv_reg_mr"), std::string::npos) << cluster.failure();
  EXPECT_NE(cluster.failure().find("RLIMIT_MEMLOCK, `ulimit -l`"), std::string::npos) << cluster.failure();
  EXPECT_NE(cluster.failure().find("hw0"), std::string::npos) << cluster.failure();
}

}  // namespace
}  // namespace hawser::rails_test
