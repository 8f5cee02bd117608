#include "fabric/parameters.h"

#include <gtest/gtest.h>

#include "fabric/fabric_fixture.h"

namespace hawser::fabric::test {
namespace {

TEST(ParametersFile, SetsWhatItNames) {
  Topology topology = star(2, 2);
  Parameters p;
  const auto read = parse_parameters(
      "# a slow fabric\n"
      "link-rate 200MB/s   link-latency 2us\n"
      "switch-latency 150ns\n\n"
      "mtu 1024 chunk 64K buffer 1M header-bytes 30 virtual-lanes 2\n"
      "send-engines 2 send-engine-rate 1GB/s receive-engines 3 receive-engine-rate 2GB/s\n"
      "bus-rate 1GB/s bus half\n"
      "ecn-threshold 16K adaptive-routing on reroute-delay 27ms shuffle-seed 4\n"
      "lmc 2 link-layer ethernet seed 99   # the end\n"
      "host login n1/hw1 n0/hw1\n"
      "link n0/hw0 rate 50MB/s latency 9us\n",
      "p", topology, p);
  ASSERT_TRUE(read) << read.error().text;
  EXPECT_EQ(p.link_rate, 2e8);
  EXPECT_EQ(p.link_latency, 2000);
  EXPECT_EQ(p.switch_latency, 150);
  EXPECT_EQ(p.mtu, 1024u);
  EXPECT_EQ(p.chunk, 65536u);
  EXPECT_EQ(p.buffer, 1u << 20);
  EXPECT_EQ(p.header_bytes, 30u);
  EXPECT_EQ(p.virtual_lanes, 2);
  EXPECT_EQ(p.send_engines, 2);
  EXPECT_EQ(p.receive_engines, 3);
  EXPECT_TRUE(p.bus_half_duplex);
  EXPECT_EQ(p.ecn_threshold, 16384u);
  EXPECT_TRUE(p.adaptive_routing);
  EXPECT_EQ(p.reroute_delay, 27 * millisecond);
  EXPECT_EQ(p.shuffle_seed, 4u);
  EXPECT_EQ(p.lmc, 2);
  EXPECT_EQ(p.link_layer, LinkLayer::ethernet);
  EXPECT_EQ(p.seed, 99u);
  EXPECT_FALSE(p.unlimited());
  ASSERT_EQ(p.links.size(), 1u);
  EXPECT_EQ(*p.links[0].latency, 9000);
  EXPECT_EQ(topology.node(topology.find_port("login/hw0").value().node).name, "n1/hw1");
}

TEST(ParametersFile, ErrorsNameFileLineAndCause) {
  const std::pair<const char*, const char*> cases[] = {
      {"speed 5\n", "p:1: there is no parameter 'speed'"},
      {"\nlink-rate\n", "p:2: link-rate needs a value"},
      {"link-rate quick\n", "p:1: link-rate: 'quick' is not a rate"},
      {"mtu 3000\n", "p:1: mtu: '3000' is not an MTU; must be 256, 512, 1024, 2048 or 4096"},
      {"mtu 4294968320\n", "p:1: mtu: '4294968320' is not an MTU"},
      {"chunk 4294967297\n", "p:1: chunk: '4294967297' is not a number of bytes from 0 to 16M"},
      {"header-bytes 4294967326\n", "p:1: header-bytes: '4294967326' is not a number of bytes from 0 to 4K"},
      {"buffer 2000G\n", "p:1: buffer: '2000G' is not a number of bytes from 0 to 1024G"},
      {"ecn-threshold 8000000000G\n",
       "p:1: ecn-threshold: '8000000000G' is not a number of bytes from 0 to 1024G"},
      {"chunk 1e300G\n", "p:1: chunk: '1e300G' is not a number of bytes from 0 to 16M"},
      {"link-latency 9e9s\n", "p:1: link-latency: '9e9s' is not a duration from 0ns to 1000s"},
      {"switch-latency 1001s\n", "p:1: switch-latency: '1001s' is not a duration from 0ns to 1000s"},
      {"reroute-delay 1e300s\n", "p:1: reroute-delay: '1e300s' is not a duration from 0ns to 1000s"},
      {"ccti-timer 9223372036854775807ns\n",
       "p:1: ccti-timer: '9223372036854775807ns' is not a duration from 0ns to 1000s"},
      {"ccti-timer 0.1ns\n", "p:1: ccti-timer must be more than 0"},
      {"link-rate 999B/s\n", "p:1: link-rate: '999B/s' is not a rate from 1000B/s to 1e+06GB/s"},
      {"link-rate 1e-300MB/s\n", "p:1: link-rate: '1e-300MB/s' is not a rate from 1000B/s to 1e+06GB/s"},
      {"bus-rate 1e300GB/s\n", "p:1: bus-rate: '1e300GB/s' is not a rate from 1000B/s to 1e+06GB/s"},
      {"send-engine-rate 1e7GB/s\n",
       "p:1: send-engine-rate: '1e7GB/s' is not a rate from 1000B/s to 1e+06GB/s"},
      {"virtual-lanes 4294967297\n", "p:1: virtual-lanes: '4294967297' is not a number from 1 to 15"},
      {"seed 18446744073709551616\n", "p:1: seed: '18446744073709551616' is not a number"},
      {"link n0/hw0 rate 1B/s\n", "p:1: link n0/hw0: rate: '1B/s' is not a rate from 1000B/s to 1e+06GB/s"},
      {"link n0/hw0 latency 9e9s\n", "p:1: link n0/hw0: latency: '9e9s' is not a duration from 0ns to 1000s"},
      {"lmc 8\n", "p:1: lmc: '8' is not a number from 0 to 7"},
      {"bus sideways\n", "p:1: bus: 'sideways' is neither"},
      {"host x\n", "p:1: host needs a name and adapters"},
      {"host x n9/hw0\n", "p:1: host x: there is no adapter 'n9/hw0'"},
      {"link n0/hw0 rate\n", "p:1: link needs a port"},
      {"link n9/hw0 rate 1MB/s\n", "p:1: there is no node"},
      {"link n0/hw0 colour red\n", "p:1: 'colour' is not a property of a link"},
  };
  for (const auto& [text, error] : cases) {
    Topology topology = star(2);
    Parameters parameters;
    const auto read = parse_parameters(text, "p", topology, parameters);
    ASSERT_FALSE(read) << text;
    EXPECT_TRUE(read.error().text.starts_with(error)) << read.error().text;
  }
}

TEST(FabricAddresses, SubnetsThatAreNotJoinedHaveDifferentPrefixes) {
  const auto prefix = [](Bed& bed, const char* name) {
    const Gid& gid = bed.adapter(name).port(1).gids()[0].gid;
    return std::vector<std::uint8_t>(gid.begin(), gid.begin() + 8);
  };
  Bed two(make_rail_switches({.hosts = 2, .rails = 2}).value(), {});
  EXPECT_EQ(prefix(two, "n0/hw0"), prefix(two, "n1/hw0"));
  EXPECT_NE(prefix(two, "n0/hw0"), prefix(two, "n0/hw1"));
  Bed one(star(2, 2), {});
  EXPECT_EQ(prefix(one, "n0/hw0"), prefix(one, "n1/hw1"));
  Bed back(make_back_to_back({.hosts = 2, .rails = 2}).value(), {});
  EXPECT_EQ(prefix(back, "n0/hw1"), prefix(back, "n1/hw1"));
  EXPECT_NE(prefix(back, "n0/hw0"), prefix(back, "n0/hw1"));
}

TEST(FabricAddresses, OnEthernetQueuePairsSpreadOverThePaths) {
  Bed bed(make_fat_tree(2, 4, 8).value(), {.lmc = 2, .link_layer = LinkLayer::ethernet});
  Client a(bed, bed.adapter("n0/hw0")), b(bed, bed.adapter("n4/hw0"));
  for (int i = 0; i < 32; ++i) {
    connect(a.create(), b.create());
    EXPECT_EQ(a.status(a.send(*a.queue_pairs.back(), Opcode::rdma_write, 0, 8, &b)),
              CompletionStatus::success);
  }
  for (int up = 5; up <= 8; ++up) {
    const PortName port = bed.fabric->topology().find_port("LEAF00:" + std::to_string(up)).value();
    EXPECT_GE(bed.fabric->network().counters(bed.fabric->network().index(port)).packets, 2u);
  }
}

TEST(CompletionRings, KeepTheirEntriesWhenResized) {
  CompletionRing ring(4);
  for (std::uint64_t i = 0; i < 4; ++i) EXPECT_TRUE(ring.deliver({.id = i}, {}));
  EXPECT_FALSE(ring.deliver({}, {}));
  Completion out[4];
  EXPECT_EQ(ring.poll(2, out), 2u);
  EXPECT_FALSE(ring.resize(1));
  EXPECT_TRUE(ring.resize(8));
  for (std::uint64_t i = 4; i < 10; ++i) EXPECT_TRUE(ring.deliver({.id = i}, {}));
  EXPECT_FALSE(ring.deliver({}, {}));
  for (std::uint64_t i = 2; i < 10; ++i) {
    ASSERT_EQ(ring.poll(1, out), 1u);
    EXPECT_EQ(out[0].id, i);
  }
}

}  // namespace
}  // namespace hawser::fabric::test
