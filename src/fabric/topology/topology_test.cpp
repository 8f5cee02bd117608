#include "fabric/topology/topology.h"

#include <gtest/gtest.h>

#include "fabric/topology/makers.h"
#include "fabric/topology/topology_text.h"

namespace hawser::fabric {
namespace {

TEST(Topology, MakersHaveTheNamesOfTheCommandLine) {
  Topology two = make_rail_switches({.hosts = 3, .rails = 2}).value();
  EXPECT_EQ(two.hosts().size(), 3u);
  EXPECT_EQ(two.hosts()[1].adapters.size(), 2u);
  const PortName port = two.find_port("n1/hw1").value();
  EXPECT_EQ(two.node(two.port(port).peer.node).name, "switch1");
  EXPECT_EQ(two.port_text(port), "n1/hw1");
  EXPECT_EQ(two.port_text(two.find_port("switch1:2").value()), "switch1:2");
  EXPECT_FALSE(two.find_port("n9/hw0"));
  EXPECT_FALSE(two.find_port("n1/hw2"));
  EXPECT_FALSE(two.find_port("switch1"));
  EXPECT_FALSE(two.find_port("switch1:99"));
  EXPECT_FALSE(make_fat_tree_144(145));
  EXPECT_FALSE(make_topology("ring", {}));
}

TEST(Topology, FatTreeHasTheBlocksOfThePaper) {
  const Topology tree = make_fat_tree_144(144).value();
  int switches = 0, cables = 0;
  for (const TopologyNode& node : tree.nodes()) {
    if (node.kind == NodeKind::switch_device) ++switches;
    for (const TopologyPort& port : node.ports) cables += port.peer.node >= 0 ? 1 : 0;
  }
  EXPECT_EQ(switches, 24);
  EXPECT_EQ(cables, 2 * (144 + 144));
}

TEST(TopologyText, WrittenTextReadsBackTheSame) {
  const Topology tree = make_fat_tree(3, 4, 10).value();
  const std::string text = write_topology(tree);
  const Topology again = parse_topology(text, "again").value();
  EXPECT_EQ(write_topology(again), text);
  EXPECT_EQ(again.hosts().size(), 10u);
}

TEST(TopologyText, ReadsWhatIbnetdiscoverPrints) {
  const char* text = R"(#
# Topology file: generated on Mon May  7 11:00:00 2007
#
vendid=0x2c9
devid=0xb924
sysimgguid=0x5442ba00003000
switchguid=0x5442ba00003080(5442ba00003080)
Switch	24 "S-005442ba00003080"		# "ISR9024 Voltaire" base port 0 lid 6 lmc 0
[10]	"H-0008f10403961354"[1](8f10403961355) 		# "MT23108 InfiniHost" lid 4 4xSDR
[6]	"H-0008f10403961358"[2](8f1040396135a) 		# "node7 HCA-1" lid 5 12xQDR

vendid=0x8f1
caguid=0x8f10403961354
Ca	2 "H-0008f10403961354"		# "MT23108 InfiniHost"
[1](8f10403961355) 	"S-005442ba00003080"[10]		# lid 4 lmc 1 "ISR9024 Voltaire" lid 6 4xSDR

caguid=0x8f10403961358
Ca	2 "H-0008f10403961358"		# "node7 HCA-1"
[2](8f1040396135a) 	"S-005442ba00003080"[6]		# lid 5 lmc 1 "ISR9024 Voltaire" lid 6 12xQDR
)";
  const Topology topology = parse_topology(text, "dump").value();
  ASSERT_EQ(topology.nodes().size(), 3u);
  EXPECT_EQ(topology.node(0).guid, 0x5442ba00003080u);
  EXPECT_EQ(topology.node(0).description, "ISR9024 Voltaire");
  const PortName port = topology.find_port("node7/hw0:2").value();
  EXPECT_EQ(topology.port(port).guid, 0x8f1040396135au);
  EXPECT_EQ(topology.port(port).width, 12);
  EXPECT_EQ(topology.port(port).speed, "QDR");
  EXPECT_EQ(topology.port(port).peer, (PortName{0, 6}));
}

TEST(TopologyText, ReadsWhatIbsimReads) {
  const char* text = R"(
Switch	8 "Switch1"
[1]	"Hca1"[1]	w=12
[3]	"Switch2"[3]

Switch 8 "Switch2"
[3]	"Switch1"[3]

Hca	2 "Hca1"
[1]	"Switch1"[1]
)";
  const Topology topology = parse_topology(text, "net").value();
  EXPECT_EQ(topology.hosts().size(), 1u);
  EXPECT_TRUE(topology.find_port("Hca1"));
  EXPECT_TRUE(topology.find_port("n0/hw0:2"));
  EXPECT_EQ(topology.node(0).ports[1].width, 12);
}

struct BadText {
  const char* text;
  const char* error;
};

TEST(TopologyText, ErrorsNameFileLineAndCause) {
  const BadText cases[] = {
      {"", "t: the file describes no node"},
      {"Swich 8 \"A\"\n", "t:1: 'Swich' starts neither a node"},
      {"Switch \"A\"\n", "t:1: the number of ports is missing"},
      {"Switch 8 A\n", "t:1: the node's name in quotes is missing"},
      {"Switch 8 \"A\n", "t:1: the node's name in quotes is missing"},
      {"Switch 300 \"A\"\n", "t:1: 'A' has 255 ports"},
      {"Hca 1 \"A\"\nHca 1 \"A\"\n", "t:2: 'A' is described twice"},
      {"[1] \"A\"[1]\n", "t:1: a port is described before any node"},
      {"Hca 1 \"A\"\n[2] \"B\"[1]\n", "t:2: 'A' has no port 2"},
      {"Hca 1 \"A\"\n[1] \"B\"[1]\n", "t:2: 'A' is connected to 'B', which is not described"},
      {"Hca 1 \"A\"\n[1] \"B\"\n", "t:2: the port at the other end is missing"},
      {"Hca 1 \"A\"\n[x] \"B\"[1]\n", "t:2: the port's number in brackets"},
      {"Hca 1 \"A\"\n[1] \"A\"[1]\n", "t:2: port 1 of 'A' is connected to itself"},
      {"Hca 1 \"A\"\n[1] \"C\"[1]\nHca 1 \"B\"\n[1] \"C\"[1]\nHca 1 \"C\"\n",
       "t:4: port 1 of 'C' is connected to"},
      {"Hca 1 \"A\"\n[1] \"B\"[7]\nHca 1 \"B\"\n", "t:2: 'B' has no port 7"},
  };
  for (const BadText& bad : cases) {
    auto result = parse_topology(bad.text, "t");
    ASSERT_FALSE(result) << bad.text;
    EXPECT_TRUE(result.error().text.starts_with(bad.error)) << result.error().text;
  }
}

TEST(Topology, HostsCanBeNamed) {
  Topology topology = make_single_switch({.hosts = 2, .rails = 2}).value();
  EXPECT_TRUE(topology.set_host("login", {"n1/hw0", "n0/hw1"}));
  EXPECT_EQ(topology.port_text(topology.find_port("login/hw1").value()), "login/hw1");
  EXPECT_EQ(topology.node(topology.find_port("login/hw1").value().node).name, "n0/hw1");
  EXPECT_FALSE(topology.set_host("x", {"switch0"}));
}

}  // namespace
}  // namespace hawser::fabric
