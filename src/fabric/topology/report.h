// What `hawser fabric topology` tells about forwarding tables, as text.
#pragma once

#include <string>
#include <string_view>

#include "fabric/topology/path_analysis.h"

namespace hawser::fabric {

// Whether everything is reachable, over how many spines, how long the paths are.
std::string report_paths(const Topology& topology, const RoutingTables& tables);

struct FlowPattern {
  std::string title;
  std::vector<Flow> flows;
};
// Reads a pattern, over the first adapters of hosts:
//   displaced-ring:STEP[:RANKS]   rank i sends to rank i + STEP (V07 section 3.2); RANKS is 24, or all hosts
//   if
//                                 there are fewer
//   all-to-all[:RANKS]            every rank to every other; RANKS is all hosts
//   PORT>PORT[,PORT>PORT...]      n0/hw0>n12/hw0
// `lid_offset` is which of the destination's LIDs is used, from 0; -1: each LID by a flow of its own.
Result<FlowPattern> parse_flows(std::string_view text, int lid_offset, const Topology& topology,
                                const RoutingTables& tables);

// The load of the links that the pattern's switches share: a line of up-link and one of down-link loads per
// leaf switch that sends or receives any, and how many links carry how many flows; and the load of the
// busiest link if each pair of ports divided its flow over these LIDs as well as can be (load_bound.h).
std::string report_loads(const Topology& topology, const RoutingTables& tables, const FlowPattern& pattern);

}  // namespace hawser::fabric
