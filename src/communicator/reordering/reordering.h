// Which process takes which rank of a communicator with a topology, when the program allows ranks to be
// reordered (MPI-5.0 chapter 8): so that neighbours are near each other in the machine. Pure and
// deterministic: whoever knows the same facts computes the same. Never worse than leaving the ranks as they
// are, which is what happens unless something else is better.
#pragma once

#include <span>
#include <vector>

#include "communicator/reordering/edge_graph.h"
#include "communicator/reordering/grid_orders.h"
#include "communicator/reordering/places.h"

namespace hawser {

// The process of each rank. The grid has as many cells as there are places.
std::vector<int> reorder_grid(const Places& places, const Grid& grid);

// The same for any graph over as many vertices as there are places.
std::vector<int> reorder_graph(const Places& places, std::span<const WeightedEdge> edges);

}  // namespace hawser
