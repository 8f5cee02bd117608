#include "fabric/topology/routing.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "fabric/topology/makers.h"
#include "fabric/topology/opensm_dumps.h"
#include "fabric/topology/path_analysis.h"
#include "fabric/topology/topology_text.h"

namespace hawser::fabric {
namespace {

TEST(Routing, FatTreeOf144ReachesEveryLidOverDistinctSpines) {
  const Topology tree = make_fat_tree_144(144).value();
  for (const int lmc : {0, 2, 3}) {
    const RoutingTables tables = build_routes(tree, lmc).value();
    const Reachability result = analyse_paths(tree, tables);
    EXPECT_EQ(result.pairs, 144u * 143u << lmc);
    EXPECT_EQ(result.reachable, result.pairs);
    EXPECT_EQ(result.fewest_spines, 1 << lmc);
    EXPECT_EQ(result.most_spines, 1 << lmc);
    EXPECT_EQ(result.longest_path, 4u);
  }
}

TEST(Routing, UpLinksCarryAboutTheSameNumberOfLids) {
  const Topology tree = make_fat_tree_144(144).value();
  const RoutingTables tables = build_routes(tree, 2).value();
  const std::int32_t leaf = *tree.find_node("LEAF03");
  std::vector<int> lids(25);
  for (Lid lid = 1; lid <= tables.top_lid(); ++lid) {
    const std::uint8_t port = tables.out_port(leaf, lid);
    if (port != no_port) ++lids[port];
  }
  const auto [least, most] = std::minmax_element(lids.begin() + 13, lids.end());
  EXPECT_LE(*most - *least, 2);
}

TEST(Routing, FirstLidsAloneAreSpreadEvenlyToo) {
  const Topology tree = make_fat_tree_144(144).value();
  for (const int lmc : {0, 2, 3}) {
    const RoutingTables tables = build_routes(tree, lmc).value();
    for (const LinkLoad& load : link_loads(tree, tables, displaced_ring(tree, 24, 12))) {
      const std::string& name = tree.node(load.out.node).name;
      if (name == "LEAF00" || name == "LEAF01") {
        EXPECT_EQ(load.flows, 1) << tree.port_text(load.out) << " lmc " << lmc;
      }
    }
  }
}

TEST(Routing, ShuffledTablesHaveTheHotSpotsOfThePaper) {
  const Topology tree = make_fat_tree_144(144).value();
  const RoutingTables tables = build_routes(tree, 2, {.shuffle_seed = 3}).value();
  const Reachability result = analyse_paths(tree, tables);
  EXPECT_EQ(result.reachable, result.pairs);
  EXPECT_EQ(result.fewest_spines, 4);
  int most = 0, idle = 0;
  for (const LinkLoad& load : link_loads(tree, tables, displaced_ring(tree, 24, 12))) {
    if (tree.node(load.out.node).name != "LEAF00") continue;
    most = std::max(most, load.flows);
    idle += load.flows == 0 ? 1 : 0;
  }
  EXPECT_GE(most, 2);
  EXPECT_GE(idle, 1);
}

TEST(Routing, NoPathGoesUpAfterDown) {
  const Topology tree = make_fat_tree(6, 4, 24).value();
  const RoutingTables tables = build_routes(tree, 1).value();
  for (std::int32_t from = 0; from < 24; ++from) {
    for (Lid lid = 1; lid <= tables.top_lid(); ++lid) {
      const Path path = trace_path(tree, tables, {from, 1}, lid);
      if (tables.owner(lid).node < 0) continue;
      EXPECT_TRUE(path.complete) << from << " to LID " << lid;
      EXPECT_LE(path.hops.size(), 4u);
    }
  }
}

TEST(Routing, GoesRoundFailedCables) {
  const Topology tree = make_fat_tree(4, 3, 12).value();
  RoutingTables tables = build_routes(tree, 2).value();
  const PortName dead = tree.find_port("LEAF00:4").value();
  const PortName other_end = tree.port(dead).peer;
  route_up_down(tree, tables, [&](PortName port) { return port != dead && port != other_end; });
  const Reachability result = analyse_paths(tree, tables);
  EXPECT_EQ(result.reachable, result.pairs);
  for (const LinkLoad& load : link_loads(tree, tables, displaced_ring(tree, 12, 3))) {
    if (load.out == dead || load.out == other_end) {
      EXPECT_EQ(load.flows, 0);
    }
  }
  // A host whose only cable is gone is reached by nobody.
  const PortName host = tree.find_port("n5/hw0").value();
  route_up_down(tree, tables, [&](PortName port) { return port != host && port != tree.port(host).peer; });
  EXPECT_FALSE(
      trace_path(tree, tables, tree.find_port("n0/hw0").value(), tables.address(host).base).complete);
}

TEST(Routing, RailsOnSwitchesOfTheirOwnAreSubnetsOfTheirOwn) {
  const Topology two = make_rail_switches({.hosts = 3, .rails = 2}).value();
  const RoutingTables tables = build_routes(two, 2).value();
  const Reachability result = analyse_paths(two, tables);
  EXPECT_EQ(result.pairs, 2u * 3 * 2 * 4);
  EXPECT_EQ(result.reachable, result.pairs);
  EXPECT_FALSE(trace_path(two, tables, two.find_port("n0/hw0").value(),
                          tables.address(two.find_port("n1/hw1").value()).base)
                   .complete);
}

TEST(Routing, RefusesImpossibleAddresses) {
  const Topology pair = make_back_to_back({}).value();
  EXPECT_FALSE(assign_lids(pair, 8));
  RoutingTables tables(pair);
  EXPECT_TRUE(tables.set_address({0, 1}, 8, 2));
  EXPECT_FALSE(tables.set_address({1, 1}, 8, 2));
  EXPECT_FALSE(tables.set_address({1, 1}, 14, 2));
  EXPECT_FALSE(tables.set_address({1, 1}, 0, 0));
  EXPECT_FALSE(tables.set_address({1, 1}, 0xbfff, 1));
}

TEST(Routing, DisplacedRingLoadsLinks) {
  const Topology tree = make_fat_tree_144(144).value();
  const RoutingTables tables = build_routes(tree, 0).value();
  const auto loads = link_loads(tree, tables, displaced_ring(tree, 24, 12));
  int total = 0;
  for (const LinkLoad& load : loads) total += load.flows;
  EXPECT_EQ(total, 2 * 24);  // each flow crosses one up-link and one down-link
}

constexpr const char* dumped_net = R"(
Hca 1 "H000"
[1] "LEAF00"[1]
Hca 1 "H001"
[1] "LEAF01"[1]
Switch 4 "LEAF00"
[1] "H000"[1]
[3] "LEAF01"[3]
[4] "LEAF01"[4]
Switch 4 "LEAF01"
[1] "H001"[1]
)";
constexpr const char* dumped_subnet =
    R"({ CA-SM Ports:01 SystemGUID:0000000000100000 NodeGUID:0000000000100000 PortGUID:0000000000100001 VenID:000000 DevID:0000 Rev:000000A1 {H000} LID:0004 PN:01 } { SW Ports:04 SystemGUID:0000000000200000 NodeGUID:0000000000200000 PortGUID:0000000000200000 VenID:00000000 DevID:0000 Rev:000000A1 {LEAF00} LID:0002 PN:01 } PHY=4x LOG=ACT SPD=5
{ SW Ports:04 SystemGUID:0000000000200000 NodeGUID:0000000000200000 PortGUID:0000000000200000 VenID:000000 DevID:0000 Rev:000000A1 {LEAF00} LID:0002 PN:01 } { CA-SM Ports:01 SystemGUID:0000000000100000 NodeGUID:0000000000100000 PortGUID:0000000000100001 VenID:00000000 DevID:0000 Rev:000000A1 {H000} LID:0004 PN:01 } PHY=4x LOG=ACT SPD=5
{ SW Ports:04 SystemGUID:0000000000200001 NodeGUID:0000000000200001 PortGUID:0000000000200001 VenID:000000 DevID:0000 Rev:000000A1 {LEAF01} LID:0003 PN:01 } { CA Ports:01 SystemGUID:0000000000100002 NodeGUID:0000000000100002 PortGUID:0000000000100003 VenID:00000000 DevID:0000 Rev:000000A1 {H001} LID:0006 PN:01 } PHY=4x LOG=ACT SPD=5
{ CA Ports:01 SystemGUID:0000000000100002 NodeGUID:0000000000100002 PortGUID:0000000000100003 VenID:000000 DevID:0000 Rev:000000A1 {H001} LID:0006 PN:01 } { SW Ports:04 SystemGUID:0000000000200001 NodeGUID:0000000000200001 PortGUID:0000000000200001 VenID:00000000 DevID:0000 Rev:000000A1 {LEAF01} LID:0003 PN:01 } PHY=4x LOG=ACT SPD=5
)";
constexpr const char* dumped_guids =
    "0x0000000000100001 0x0004 0x0005\n\n0x0000000000100003 0x0006 0x0007\n\n0x0000000000200000 0x0002 "
    "0x0002\n";
constexpr const char* dumped_tables =
    R"(Unicast lids [0-7] of switch Lid 2 guid 0x0000000000200000 ('LEAF00'):
0x0002 000 # Switch portguid 0x0000000000200000: 'LEAF00'
0x0003 003 # Switch portguid 0x0000000000200001: 'LEAF01'
0x0004 001 # Channel Adapter portguid 0x0000000000100001: 'H000'
0x0005 001 # Channel Adapter portguid 0x0000000000100001: 'H000'
0x0006 003 # Channel Adapter portguid 0x0000000000100003: 'H001'
0x0007 004 # Channel Adapter portguid 0x0000000000100003: 'H001'
6 lids dumped
Unicast lids [0-7] of switch Lid 3 guid 0x0000000000200001 ('LEAF01'):
0x0002 003 # Switch portguid 0x0000000000200000: 'LEAF00'
0x0003 000 # Switch portguid 0x0000000000200001: 'LEAF01'
0x0004 003 # Channel Adapter portguid 0x0000000000100001: 'H000'
0x0005 004 # Channel Adapter portguid 0x0000000000100001: 'H000'
0x0006 001 # Channel Adapter portguid 0x0000000000100003: 'H001'
0x0007 001 # Channel Adapter portguid 0x0000000000100003: 'H001'
6 lids dumped
)";

TEST(OpenSmDumps, GiveAddressesAndTables) {
  const Topology net = parse_topology(dumped_net, "net").value();
  RoutingTables tables(net);
  const auto loaded = load_opensm_dumps(net, {dumped_tables, dumped_subnet, dumped_guids}, tables);
  ASSERT_TRUE(loaded) << loaded.error().text;
  const auto address = tables.address({*net.find_node("H001"), 1});
  EXPECT_EQ(address.base, 6);
  EXPECT_EQ(address.lmc, 1);
  EXPECT_EQ(tables.address({*net.find_node("LEAF00"), 0}).base, 2);
  EXPECT_EQ(tables.out_port(*net.find_node("LEAF00"), 7), 4);
  const Reachability result = analyse_paths(net, tables);
  EXPECT_EQ(result.pairs, 4u);
  EXPECT_EQ(result.reachable, 4u);
}

TEST(OpenSmDumps, ErrorsNameFileAndLine) {
  const Topology net = parse_topology(dumped_net, "net").value();
  const auto error = [&](const OpenSmDumps& dumps) {
    RoutingTables tables(net);
    const auto loaded = load_opensm_dumps(net, dumps, tables);
    return loaded ? std::string("none") : loaded.error().text;
  };
  EXPECT_TRUE(
      error({"", dumped_subnet, dumped_guids}).starts_with("opensm-lfts.dump contains no forwarding table"));
  EXPECT_TRUE(error({dumped_tables, dumped_subnet, "0x1 0x4 0x6\n"}).starts_with("guid2lid:1: "));
  EXPECT_TRUE(error({dumped_tables, "rubbish\n", dumped_guids}).starts_with("opensm-subnet.lst:1: "));
  EXPECT_TRUE(error({"0x0002 001\n", dumped_subnet, dumped_guids}).starts_with("opensm-lfts.dump:1: "));
  EXPECT_NE(error({"Unicast lids of switch Lid 2 guid 0x5 ('NONE'):\n", dumped_subnet, dumped_guids})
                .find("'NONE'"),
            std::string::npos);
}

}  // namespace
}  // namespace hawser::fabric
