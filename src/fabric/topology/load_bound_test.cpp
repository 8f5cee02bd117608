#include "fabric/topology/load_bound.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "fabric/topology/makers.h"
#include "fabric/topology/report.h"

namespace hawser::fabric {
namespace {

int largest(const std::vector<LinkLoad>& loads) {
  int most = 0;
  for (const LinkLoad& load : loads) most = std::max(most, load.flows);
  return most;
}

TEST(LoadBound, OneLidLeavesNoChoice) {
  const Topology tree = make_fat_tree_144(144).value();
  for (const std::uint64_t seed : {1, 2, 3}) {
    const RoutingTables tables = build_routes(tree, 2, {.shuffle_seed = seed}).value();
    const auto ring = parse_flows("displaced-ring:12:24", 0, tree, tables).value().flows;
    const LoadBound bound = divide_flows(tree, tables, ring);
    EXPECT_DOUBLE_EQ(bound.reached, largest(link_loads(tree, tables, ring)));
    EXPECT_NEAR(bound.at_least, bound.reached, 0.005 * bound.reached);
    EXPECT_GT(bound.reached, 1.5) << "the tables are uneven";
  }
}

TEST(LoadBound, FourLidsRemoveTheHotSpotsOfARing) {
  const Topology tree = make_fat_tree_144(144).value();
  for (const std::uint64_t seed : {1, 2, 3}) {
    const RoutingTables tables = build_routes(tree, 2, {.shuffle_seed = seed}).value();
    const auto ring = parse_flows("displaced-ring:12:24", -1, tree, tables).value().flows;
    const LoadBound bound = divide_flows(tree, tables, ring);
    EXPECT_LE(bound.reached, 1.01);
    EXPECT_GE(bound.reached, 1) << "every adapter sends one flow";
    EXPECT_LE(bound.at_least, bound.reached);
  }
}

// Two switches, two hosts each, two cables: what goes over them is divided into halves.
TEST(LoadBound, CountsThePortsOfAdapters) {
  const Topology tree = make_fat_tree(2, 2, 4).value();
  const RoutingTables tables = build_routes(tree, 1).value();
  for (const auto& [pattern, load] :
       {std::pair{"n0/hw0>n2/hw0", 1.0}, {"n0/hw0>n2/hw0,n0/hw0>n3/hw0", 2.0}}) {
    const auto flows = parse_flows(pattern, -1, tree, tables).value().flows;
    EXPECT_NEAR(divide_flows(tree, tables, flows).reached, load, 0.01) << pattern;
  }
}

TEST(LoadBound, DividesAFlowOverTheRails) {
  const Topology trees = make_fat_trees_144({.hosts = 24, .rails = 2}).value();
  const RoutingTables tables = build_routes(trees, 2).value();
  const auto flows = parse_flows("displaced-ring:12:24", -1, trees, tables).value().flows;
  EXPECT_EQ(flows.size(), 24u * 2 * 4);
  EXPECT_NEAR(divide_flows(trees, tables, flows).reached, 0.5, 0.005);
}

TEST(LoadBound, ProvesWhatItFindsForManyFlows) {
  const Topology tree = make_fat_tree_144(144).value();
  for (const std::uint64_t seed : {0, 7}) {
    const RoutingTables tables = build_routes(tree, 2, {.shuffle_seed = seed}).value();
    const auto flows = parse_flows("all-to-all:48", -1, tree, tables).value().flows;
    const LoadBound bound = divide_flows(tree, tables, flows);
    EXPECT_NEAR(bound.reached, 47, 0.5) << "as much as an adapter sends";
    EXPECT_GE(bound.at_least, 0.99 * bound.reached);
  }
  const RoutingTables tables = build_routes(tree, 2).value();
  EXPECT_EQ(divide_flows(tree, tables, {}).reached, 0);
}

}  // namespace
}  // namespace hawser::fabric
