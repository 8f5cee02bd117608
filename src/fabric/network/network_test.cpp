#include "fabric/network/network.h"

#include <gtest/gtest.h>

#include "fabric/topology/makers.h"

namespace hawser::fabric {
namespace {

// Sends packets as fast as the network takes them, and notes what arrives.
class Endpoint final : public PacketSink {
 public:
  Endpoint(Network& network, EventQueue& events, PortIndex port)
      : network_(network), events_(events), port_(port) {
    queue_.port = port;
    queue_.source = 0;
    network.attach(port, *this);
  }
  void send(Lid destination, int packets, std::uint32_t bytes, std::uint8_t service_level = 0) {
    destination_ = destination, left_ += packets, bytes_ = bytes, service_level_ = service_level;
    pump();
  }
  void arrive(Packet& packet) override {
    if (first == 0) first = events_.now();
    last = events_.now();
    received += packet.wire_bytes;
    ++packets;
    marked += packet.congestion_marked ? 1 : 0;
    in_order = in_order && packet.psn >= next_psn_;
    next_psn_ = packet.psn;
    network_.consume(packet);
  }
  void source_has_room(int, std::uint32_t) override { pump(); }
  void train_leaves(int) override {}

  Nanoseconds first = 0, last = 0;
  std::uint64_t received = 0;
  int packets = 0, marked = 0;
  bool in_order = true;

 private:
  void pump() {
    while (left_ > 0 && (network_.fast() || queue_.fifo.size() < 2)) {
      --left_;
      Packet& packet = *network_.allocate();
      packet.destination_lid = destination_;
      packet.wire_bytes = bytes_;
      packet.service_level = service_level_;
      packet.psn = sent_++;
      network_.fast() ? network_.send(port_, packet) : network_.submit(queue_, packet);
    }
  }
  Network& network_;
  EventQueue& events_;
  PortIndex port_;
  InputQueue queue_;
  Lid destination_ = 0;
  int left_ = 0;
  std::uint32_t bytes_ = 0, sent_ = 0, next_psn_ = 0;
  std::uint8_t service_level_ = 0;
};

struct Net {
  Net(Topology t, Parameters p) : topology(std::move(t)), parameters(std::move(p)) {
    tables = build_routes(topology, parameters.lmc).value();
    network.emplace(events, topology, tables, parameters, random, trace);
    for (const TopologyHost& host : topology.hosts()) {
      ends.push_back(std::make_unique<Endpoint>(*network, events, network->index({host.adapters[0], 1})));
    }
  }
  Lid lid(int host) const {
    return tables.address({topology.hosts()[static_cast<std::size_t>(host)].adapters[0], 1}).base;
  }
  Endpoint& end(int host) { return *ends[static_cast<std::size_t>(host)]; }
  PortIndex port(const char* text) { return network->index(topology.find_port(text).value()); }
  void run() {
    while (events.fire_next()) {
    }
    events.fire_until(events.now() + second);
    network->check_invariants();
    EXPECT_TRUE(network->quiescent(events.now()));
  }

  Topology topology;
  Parameters parameters;
  RoutingTables tables;
  EventQueue events;
  Random random{1};
  Trace trace;
  std::optional<Network> network;
  std::vector<std::unique_ptr<Endpoint>> ends;
};

Topology star(int hosts) { return make_single_switch({.hosts = hosts, .rails = 1}).value(); }

TEST(Network, UnlimitedPacketsTakeOneEventAndTheLatencies) {
  Net net(star(2), {.link_latency = 2 * microsecond, .switch_latency = 300});
  ASSERT_TRUE(net.network->fast());
  net.end(0).send(net.lid(1), 10, 1 << 20);
  net.run();
  EXPECT_EQ(net.end(1).packets, 10);
  EXPECT_EQ(net.end(1).last, 4300);
  EXPECT_EQ(net.events.fired(), 10u);
}

TEST(Network, ALinkCarriesItsRate) {
  for (const double rate : {1e8, 4e8, 12.5e9}) {
    Net net(star(2), {.link_rate = rate, .link_latency = 2 * microsecond});
    net.end(0).send(net.lid(1), 1000, 2048);
    net.run();
    const double measured = 999 * 2048 / (static_cast<double>(net.end(1).last - net.end(1).first) / 1e9);
    EXPECT_NEAR(measured, rate, rate * 0.001);
  }
}

TEST(Network, CutThroughPaysForTheBytesOnce) {
  Net net(make_fat_tree(2, 2, 4).value(), {.link_rate = 1e9, .link_latency = 100, .switch_latency = 50});
  net.end(0).send(net.lid(3), 1, 2000);
  net.run();
  EXPECT_EQ(net.end(3).first, 4 * 100 + 3 * 50 + 2000);
}

TEST(Network, TwoFlowsShareALinkEqually) {
  Net net(star(4), {.link_rate = 1e9, .link_latency = 100});
  net.end(0).send(net.lid(3), 1000, 2048);
  net.end(1).send(net.lid(3), 1000, 2048);
  net.events.fire_until(2 * millisecond);
  const auto sent = [&](const char* port) {
    return static_cast<double>(net.network->counters(net.port(port)).bytes);
  };
  EXPECT_NEAR(sent("n0/hw0") / sent("n1/hw0"), 1, 0.02);
  net.run();
  EXPECT_EQ(net.end(3).packets, 2000);
  EXPECT_NEAR(static_cast<double>(net.end(3).last), 2000 * 2048, 20000);
}

// Hosts 0 and 1 reach hosts 2 and 3 over one up-link. Host 2's cable is slow and host 0 floods it; host 1
// talks to host 3, whose cable is idle.
Nanoseconds victim_time(bool hot, int lanes) {
  Net net(make_fat_tree(2, 2, 4).value(), {.link_rate = 1e9, .link_latency = 100, .virtual_lanes = lanes});
  for (const int host : {2, 3}) net.tables.set_out_port(*net.topology.find_node("LEAF00"), net.lid(host), 3);
  net.network->set_rate(net.port("n2/hw0"), 5e7);
  if (hot) net.end(0).send(net.lid(2), 400, 2048, 0);
  net.events.fire_until(millisecond);
  net.end(1).send(net.lid(3), 100, 2048, 1);
  net.run();
  EXPECT_EQ(net.end(3).packets, 100);
  return net.end(3).last - millisecond;
}

TEST(Network, HotSpotsSpreadToPacketsThatGoElsewhere) {
  const Nanoseconds alone = victim_time(false, 1);
  EXPECT_NEAR(static_cast<double>(alone), 100 * 2048, 2000);
  EXPECT_GT(victim_time(true, 1), 10 * alone);
}

TEST(Network, VirtualLanesPassEachOther) { EXPECT_LT(victim_time(true, 2), victim_time(false, 2) * 5 / 4); }

TEST(Network, CongestionIsMarked) {
  Net net(star(4), {.link_rate = 1e9, .link_latency = 100, .ecn_threshold = 2048});
  for (const int source : {0, 1, 2}) net.end(source).send(net.lid(3), 100, 2048);
  net.run();
  EXPECT_GT(net.end(3).marked, 100);
  Net calm(star(4), {.link_rate = 1e9, .link_latency = 100, .ecn_threshold = 2048});
  calm.end(0).send(calm.lid(3), 100, 2048);
  calm.run();
  EXPECT_EQ(calm.end(3).marked, 0);
}

TEST(Network, AdaptiveRoutingUsesIdleSpines) {
  // All of leaf 0 to all of leaf 1, by LIDs that the tables lead over few spines.
  const auto time = [](bool adaptive) {
    Net net(make_fat_tree(2, 4, 8).value(),
            {.link_rate = 1e9, .link_latency = 100, .adaptive_routing = adaptive});
    for (Lid lid = 1; lid <= net.tables.top_lid(); ++lid) {
      const PortName owner = net.tables.owner(lid);
      if (owner.node >= 4 && owner.node < 8)
        net.tables.set_out_port(*net.topology.find_node("LEAF00"), lid, 5);
    }
    for (int host = 0; host < 4; ++host) net.end(host).send(net.lid(4 + host), 200, 2048);
    net.run();
    Nanoseconds last = 0;
    for (int host = 4; host < 8; ++host) last = std::max(last, net.end(host).last);
    return last;
  };
  EXPECT_NEAR(static_cast<double>(time(false)), 4 * 200 * 2048, 10000);
  EXPECT_LT(time(true), 200 * 2048 * 3 / 2);
}

TEST(Network, DownLinksLoseEverythingAndRoomComesBack) {
  Net net(star(3), {.link_rate = 1e9, .link_latency = 1000});
  net.end(0).send(net.lid(2), 300, 2048);
  net.end(1).send(net.lid(2), 300, 2048);
  net.events.fire_until(100 * microsecond);
  net.network->set_cable(net.port("n2/hw0"), false);
  net.network->check_invariants();
  net.events.fire_until(200 * microsecond);
  net.network->set_cable(net.port("n2/hw0"), true);
  net.run();
  EXPECT_GT(net.end(2).packets, 100);
  EXPECT_LT(net.end(2).packets, 590);
}

TEST(Network, DeadSwitchDropsAndRecovers) {
  Net net(star(2), {.link_rate = 1e9, .link_latency = 100});
  const std::int32_t node = *net.topology.find_node("switch0");
  net.end(0).send(net.lid(1), 100, 2048);
  net.events.fire_until(50 * microsecond);
  net.network->set_node_alive(node, false);
  EXPECT_FALSE(net.network->usable(net.port("n0/hw0")));
  net.run();
  const int before = net.end(1).packets;
  EXPECT_LT(before, 30);
  net.network->set_node_alive(node, true);
  net.end(0).send(net.lid(1), 10, 2048);
  net.run();
  EXPECT_EQ(net.end(1).packets, before + 10);
}

TEST(Network, LossAndBlackHolesAreSeeded) {
  std::uint64_t hashes[2];
  for (std::uint64_t& hash : hashes) {
    Net net(star(2), {.link_rate = 1e9, .link_latency = 100});
    net.network->set_loss(net.port("n0/hw0"), 0.1);
    net.end(0).send(net.lid(1), 1000, 2048);
    net.run();
    EXPECT_NEAR(net.end(1).packets, 900, 40);
    net.network->set_loss(net.port("n0/hw0"), 0);
    net.network->set_black_hole(net.port("n0/hw0"), true);
    const int before = net.end(1).packets;
    net.end(0).send(net.lid(1), 10, 2048);
    net.end(1).send(net.lid(0), 10, 2048);
    net.run();
    EXPECT_EQ(net.end(1).packets, before);
    EXPECT_EQ(net.end(0).packets, 10);
    hash = net.trace.hash();
  }
  EXPECT_EQ(hashes[0], hashes[1]);
}

TEST(Network, DegradedRateHoldsFromThenOn) {
  Net net(star(2), {.link_rate = 1e9, .link_latency = 100});
  net.network->set_rate(net.port("n1/hw0"), 1e8);
  net.end(0).send(net.lid(1), 100, 2048);
  net.run();
  EXPECT_NEAR(static_cast<double>(net.end(1).last), 100 * 20480, 30000);
  Net fast(star(2), {});
  ASSERT_TRUE(fast.network->fast());
  fast.network->set_rate(fast.port("n1/hw0"), 1e8);
  EXPECT_FALSE(fast.network->fast());
}

TEST(Network, MulticastReachesMembersOnce) {
  for (const double rate : {0.0, 1e9}) {
    Net net(make_fat_tree(3, 2, 6).value(), {.link_rate = rate, .link_latency = 100});
    constexpr Lid group = 0xc001;
    for (const int member : {0, 1, 2, 4}) {
      net.network->multicast().join(group,
                                    {net.topology.hosts()[static_cast<std::size_t>(member)].adapters[0], 1});
    }
    net.end(0).send(group, 50, 2048);
    net.end(5).send(group, 50, 2048);  // not a member
    net.run();
    EXPECT_EQ(net.end(0).packets, 50);
    for (const int member : {1, 2, 4}) EXPECT_EQ(net.end(member).packets, 100);
    EXPECT_EQ(net.end(3).packets, 0);
    EXPECT_EQ(net.end(5).packets, 0);
  }
}

TEST(Network, PacketsOfOnePathStayInOrder) {
  Net net(make_fat_tree_144(48).value(), {.link_rate = 2e9, .link_latency = 100, .switch_latency = 140});
  for (int host = 0; host < 48; ++host) net.end(host).send(net.lid((host + 12) % 48), 64, 2048);
  net.run();
  for (int host = 0; host < 48; ++host) {
    EXPECT_EQ(net.end(host).packets, 64);
    EXPECT_TRUE(net.end(host).in_order);
  }
}

}  // namespace
}  // namespace hawser::fabric
