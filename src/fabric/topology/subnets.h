// Subnets: the parts of a topology that no cable joins. Each has a subnet manager of its own. Adapters do not
// forward, so two subnets that meet only in an adapter stay apart.
#pragma once

#include <cstdint>
#include <vector>

#include "fabric/topology/routing.h"
#include "fabric/topology/topology.h"

namespace hawser::fabric {

// The number of the subnet of each switch, counted in the order of their first switches; -1 for adapters.
std::vector<int> switch_subnets(const Topology& topology);

// One subnet as a topology of its own. Its nodes are named by their number and have GUIDs in the order of the
// real ones, but evenly apart: port p of an adapter has its node's plus p, as ibsim gives them.
struct Subnet {
  Topology graph;                   // adapters first
  std::vector<std::int32_t> nodes;  // the node of the whole topology, by node of `graph`
  bool has_switch = false;
};
// Those with switches first; a cable between two adapters is a subnet, too. Ports without cable are in none.
std::vector<Subnet> split_subnets(const Topology& topology);

// Adds the addresses and tables of a subnet's graph to those of the whole topology, behind the LIDs that are
// given there already. Fails when LIDs run out.
Result<> merge_tables(const Subnet& subnet, const RoutingTables& part, RoutingTables& whole);

}  // namespace hawser::fabric
