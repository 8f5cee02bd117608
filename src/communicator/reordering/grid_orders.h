// Orders in which the cells of a Cartesian grid can be laid along the slots of a machine, so that what is
// near in the grid gets near slots. Cells are numbered in row-major order. An order names the cell of each
// slot.
#pragma once

#include <vector>

#include "communicator/reordering/edge_graph.h"
#include "communicator/reordering/places.h"

namespace hawser {

struct Grid {
  std::vector<int> dims;  // positive
  std::vector<bool> periods;

  int size() const;
};

// One for each pair of neighbours and direction.
std::vector<WeightedEdge> edges_of(const Grid& grid);

// The grid cut into one block for each node, of the shape that cuts fewest edges, each of these again into a
// block for each group within the node, and so on (W. Gropp, Using node and socket information to implement
// MPI Cartesian topologies, Parallel Computing 85, 2019). Empty if nodes have different numbers of processes;
// levels within nodes are followed for as long as their groups are of equal size.
std::vector<int> order_in_blocks(const Places& places, const Grid& grid);

// To and fro through the grid in strips, each to and fro across the strip: a run of cells of any length is a
// block or close to one. For several widths of strips, at most `most`, best first by estimate, for runs of
// `run` cells.
std::vector<std::vector<int>> orders_in_strips(const Grid& grid, int run, std::size_t most);

}  // namespace hawser
