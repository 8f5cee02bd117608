// How well a pattern of flows can be divided over the LIDs of its receivers: what the best choice of paths
// could reach, beside which `hawser sim exec` shows what the library did.
#pragma once

#include <vector>

#include "fabric/topology/path_analysis.h"

namespace hawser::fabric {

// Flows, of which one link with the most carries so many; ports of adapters count, too.
struct LoadBound {
  double reached = 0;   // by the best division found
  double at_least = 0;  // proved: by any division; within half a per cent of `reached`, or the search gave up
};

// Flows between the same two hosts are ways of one flow, which may be divided over them in any parts: the
// splittable multicommodity flow of smallest congestion, by prices of links that grow with their loads (the
// value of the prices is the proof). Flows that do not arrive count for nothing.
LoadBound divide_flows(const Topology& topology, const RoutingTables& tables, const std::vector<Flow>& flows);

}  // namespace hawser::fabric
