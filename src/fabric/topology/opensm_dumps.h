// Reads what OpenSM writes with --dump_files_dir: addresses from opensm-subnet.lst and guid2lid, forwarding
// tables from opensm-lfts.dump. Nodes are recognised by GUID, or else by description (over ibsim the GUIDs
// are ibsim's own, and the description is the name in the topology file).
#pragma once

#include <string_view>

#include "fabric/topology/routing.h"
#include "fabric/topology/topology.h"

namespace hawser::fabric {

struct OpenSmDumps {
  std::string_view lfts;      // opensm-lfts.dump
  std::string_view subnet;    // opensm-subnet.lst
  std::string_view guid2lid;  // guid2lid: the only one that tells the LMC
};

// Adds one subnet's addresses and tables; a topology of several subnets takes one call for each. Errors name
// the file and line. Fails if a switch of the dump is not in the topology.
Result<> load_opensm_dumps(const Topology& topology, const OpenSmDumps& dumps, RoutingTables& tables);

}  // namespace hawser::fabric
