#include "testbed/emulator/topology_picture.h"

#include <gtest/gtest.h>

#include "fabric/topology/makers.h"

namespace hawser::emulator {
namespace {

TEST(TopologyPicture, ShowsOnlySwitchesWithLoadWhenAsked) {
  const fabric::Topology tree = fabric::make_fat_tree_144(144).value();
  const fabric::RoutingTables tables = fabric::build_routes(tree, 0).value();
  const auto loads = fabric::link_loads(tree, tables, fabric::displaced_ring(tree, 24, 12));
  const std::string picture = draw_topology(tree, {"24 hosts, step 12", loads, true});
  EXPECT_NE(picture.find("SPINE11"), std::string::npos);
  EXPECT_NE(picture.find("LEAF01"), std::string::npos);
  EXPECT_EQ(picture.find("LEAF02<"), std::string::npos);
  EXPECT_EQ(picture.find("nan"), std::string::npos);
}

}  // namespace
}  // namespace hawser::emulator
