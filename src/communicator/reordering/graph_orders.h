// Orders in which the vertices of any graph can be laid along the slots of a machine. An order names the
// vertex of each slot. All of this is deterministic.
#pragma once

#include <vector>

#include "communicator/reordering/edge_graph.h"
#include "communicator/reordering/places.h"

namespace hawser {

// Divides the vertices among the nodes, halving again and again, and those of each node among the groups
// within it likewise. Looks at no more than about `work` edges.
std::vector<int> divided_order(const Places& places, const EdgeGraph& graph, std::int64_t work);

// Exchanges pairs of vertices while that makes the edges between groups lighter, on the outermost level first
// and then within groups, which changes nothing further out. Never makes the cost greater. Looks at no more
// than about `work` edges.
void refine_order(const Places& places, const EdgeGraph& graph, std::vector<int>& order, std::int64_t work);

}  // namespace hawser
