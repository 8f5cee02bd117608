#include "fabric/topology/subnets.h"

#include <gtest/gtest.h>

#include "fabric/topology/makers.h"
#include "fabric/topology/path_analysis.h"
#include "fabric/topology/report.h"

namespace hawser::fabric {
namespace {

// Routes every subnet by itself and puts the tables together.
RoutingTables route_apart(const Topology& topology, int lmc) {
  RoutingTables whole(topology);
  for (const Subnet& subnet : split_subnets(topology)) {
    const RoutingTables part = build_routes(subnet.graph, lmc).value();
    const auto merged = merge_tables(subnet, part, whole);
    EXPECT_TRUE(merged) << merged.error().text;
  }
  return whole;
}

TEST(Subnets, EveryRailOnItsSwitchIsOne) {
  const Topology two = make_rail_switches({.hosts = 3, .rails = 2}).value();
  const auto subnets = split_subnets(two);
  ASSERT_EQ(subnets.size(), 2u);
  for (const Subnet& subnet : subnets) {
    EXPECT_TRUE(subnet.has_switch);
    EXPECT_EQ(subnet.graph.nodes().size(), 4u);
    EXPECT_EQ(subnet.graph.node(0).kind, NodeKind::adapter);
  }
}

TEST(Subnets, EveryCableWithoutSwitchIsOne) {
  const Topology pair = make_back_to_back({.hosts = 2, .rails = 2, .ports = 2}).value();
  const auto subnets = split_subnets(pair);
  ASSERT_EQ(subnets.size(), 4u);
  EXPECT_FALSE(subnets[0].has_switch);
}

TEST(Subnets, AnAdapterWithPortsOnTwoSwitchesIsInBoth) {
  Topology topology;
  const auto adapter = topology.add_node(NodeKind::adapter, "n0/hw0", 2).value();
  const auto left = topology.add_node(NodeKind::switch_device, "left", 4).value();
  const auto right = topology.add_node(NodeKind::switch_device, "right", 4).value();
  ASSERT_TRUE(topology.connect({adapter, 1}, {left, 1}));
  ASSERT_TRUE(topology.connect({adapter, 2}, {right, 3}));
  const auto subnets = split_subnets(topology);
  ASSERT_EQ(subnets.size(), 2u);
  EXPECT_EQ(subnets[1].nodes, (std::vector<std::int32_t>{adapter, right}));
  EXPECT_EQ(subnets[1].graph.port({0, 1}).peer.node, -1);
  EXPECT_EQ(subnets[1].graph.port({0, 2}).peer, (PortName{1, 3}));
}

TEST(Subnets, GuidsKeepTheirOrder) {
  Topology tree = make_fat_tree(2, 2, 4).value();
  tree.node(2).guid = 5;  // before all others
  const auto subnets = split_subnets(tree);
  for (const TopologyNode& node : subnets[0].graph.nodes()) {
    if (node.name != "node2") {
      EXPECT_LT(subnets[0].graph.node(2).guid, node.guid);
    }
  }
}

TEST(Subnets, TablesPutTogetherReachEverything) {
  for (const Topology& topology :
       {make_rail_switches({.hosts = 3, .rails = 2}).value(), make_back_to_back({}).value(),
        make_single_switch({}).value(), make_fat_tree(4, 3, 12).value()}) {
    const RoutingTables tables = route_apart(topology, 2);
    const Reachability found = analyse_paths(topology, tables);
    EXPECT_EQ(found.reachable, found.pairs);
    EXPECT_GT(found.pairs, 0u);
    EXPECT_TRUE(found.unreachable.empty());
  }
}

TEST(Report, TellsWhatIsNotReachable) {
  const Topology tree = make_fat_tree(3, 2, 6).value();
  RoutingTables tables = build_routes(tree, 1).value();
  EXPECT_NE(report_paths(tree, tables).find("60 of 60 (adapter port, LID of another) reachable\n"),
            std::string::npos);
  const PortName host = tree.find_port("n5/hw0").value();
  const Lid lid = tables.address(host).base;
  tables.set_out_port(*tree.find_node("LEAF00"), lid, no_port);
  const std::string text = report_paths(tree, tables);
  EXPECT_NE(text.find("58 of 60 (adapter port, LID of another) reachable: NOT ALL\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("not from n0/hw0 to LID " + std::to_string(lid) + " (n5/hw0)\n"), std::string::npos);
  const FlowPattern flow = parse_flows("n0/hw0>n5/hw0,n2/hw0>n5/hw0", 0, tree, tables).value();
  EXPECT_NE(report_loads(tree, tables, flow).find("1 flow DO NOT ARRIVE"), std::string::npos);
}

// A loop in the tables is found, not followed for ever.
TEST(Report, SurvivesALoop) {
  const Topology tree = make_fat_tree(2, 1, 2).value();
  RoutingTables tables = build_routes(tree, 0).value();
  const Lid lid = tables.address(tree.find_port("n1/hw0").value()).base;
  tables.set_out_port(*tree.find_node("SPINE00"), lid, 1);
  const Reachability found = analyse_paths(tree, tables);
  EXPECT_EQ(found.pairs, 2u);
  EXPECT_EQ(found.reachable, 1u);
}

TEST(Report, LoadsAreCountedByLink) {
  const Topology tree = make_fat_tree(2, 2, 4).value();
  const RoutingTables tables = build_routes(tree, 1).value();
  const FlowPattern ring = parse_flows("displaced-ring:2:4", -1, tree, tables).value();
  EXPECT_EQ(ring.flows.size(), 8u);
  const std::string text = report_loads(tree, tables, ring);
  EXPECT_NE(text.find("up-links of these switches by load: 4 x 2\n"), std::string::npos) << text;
  EXPECT_FALSE(parse_flows("all-to-all:5", 0, tree, tables));
  EXPECT_FALSE(parse_flows("all-to-all", 2, tree, tables));
  EXPECT_FALSE(parse_flows("displaced-ring", 0, tree, tables));
  EXPECT_FALSE(parse_flows("n0/hw0>LEAF00:1", 0, tree, tables));
}

}  // namespace
}  // namespace hawser::fabric
