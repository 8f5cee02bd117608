// The text that `ibnetdiscover` prints and `ibsim` reads, in both directions. What such a file does not say
// is made up in a fixed way: GUIDs from the node's place in the file, hosts from the adapters' names.
#pragma once

#include <string>
#include <string_view>

#include "fabric/topology/topology.h"

namespace hawser::fabric {

// `file` only names the text in errors: "ft.net:12: ...".
Result<Topology> parse_topology(std::string_view text, std::string_view file);

// Text that parse_topology, and ibsim, read back to the same graph.
std::string write_topology(const Topology& topology);

// GUIDs for nodes and ports that have none; also for topologies that were built by hand.
void complete_guids(Topology& topology);

}  // namespace hawser::fabric
