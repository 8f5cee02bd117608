// The built-in topologies. Hosts are n0, n1, ...; their adapters n0/hw0, n0/hw1, ...
#pragma once

#include <string_view>

#include "fabric/topology/topology.h"

namespace hawser::fabric {

struct MakerOptions {
  int hosts = 2;
  int rails = 2;  // adapters per host
  int ports = 1;  // per adapter
};

// Two hosts, rail i of the one cabled to rail i of the other, port by port.
Result<Topology> make_back_to_back(const MakerOptions& options);
// All adapters on one switch.
Result<Topology> make_single_switch(const MakerOptions& options);
// As many switches as rails (two by default): rail i hangs on switch i, and the switches are not connected.
Result<Topology> make_rail_switches(const MakerOptions& options);
// The 144-port switch of Vishnu's dissertation, figure 3.3: 12 leaf and 12 spine blocks of 24 ports, host h
// on leaf block h / 12, one adapter with one port each. `hosts` of them are plugged in.
Result<Topology> make_fat_tree_144(int hosts);
// The same, a switch for each rail.
Result<Topology> make_fat_trees_144(const MakerOptions& options);
// For each rail a fat tree of its own that carries all traffic at once: leaves of 2 * h ports for the
// smallest h whose 2 * h leaves have ports for all hosts, and h spines.
Result<Topology> make_fat_tree_planes(const MakerOptions& options);
// Leaves of 2 * `radix_half` ports, as many spines as up-ports; one rail.
Result<Topology> make_fat_tree(int leaves, int radix_half, int hosts);

// By the names of the command line: back-to-back, single-switch, two-switch, fat-tree, fat-tree-144.
bool is_maker(std::string_view name);
Result<Topology> make_topology(std::string_view name, const MakerOptions& options);

}  // namespace hawser::fabric
