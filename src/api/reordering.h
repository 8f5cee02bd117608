// The reordering of ranks for a topology (communicator/reordering/), when the program allows it.
#pragma once

#include <functional>
#include <vector>

#include "communicator/reordering/reordering.h"
#include "process/mpi_process.h"

namespace hawser::mpi {

// An order names, for each rank of the communicator to be, the rank of `parent` that takes it; those are the
// first `size` ranks. Empty: all stay as they are.
using RankOrder = std::vector<int>;
using ReorderingRule = std::function<std::vector<int>(const Places&)>;

// Collective: rank 0 learns from hwloc's answers where everybody is, and tells the order to all.
Result<RankOrder> agree_on_order(MpiProcess& process, Communicator& parent, int size,
                                 const ReorderingRule& rule);
// The same for the graph of these edges, of which every rank gives its own. A graph too large to be gathered
// is not reordered.
Result<RankOrder> agree_on_order(MpiProcess& process, Communicator& parent,
                                 const std::vector<WeightedEdge>& edges);
// Local, so it knows the nodes only: all ranks compute the same.
RankOrder order_over_nodes(MpiProcess& process, const Communicator& parent, int size,
                           const ReorderingRule& rule);
// The new rank of the caller, or `undefined`.
int new_rank_in(const RankOrder& order, int size, int rank);

// Collective: the communicator over the first `size` ranks in this order; null on the others.
Result<> create_in_order(MpiProcess& process, Communicator& parent, int size, const RankOrder& order,
                         Ref<Communicator>& out);

}  // namespace hawser::mpi
