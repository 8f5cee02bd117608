// The algorithms, one to a file. Each is a Task over operation.plan; restrictions and costs stand in
// algorithm_table.cpp.
#pragma once

#include "collective/combine.h"
#include "collective/operation.h"
#include "collective/task.h"

namespace hawser::algorithms {

Task barrier_dissemination(Operation& operation);
Task barrier_two_level(Operation& operation);

Task broadcast_binomial(Operation& operation);
Task broadcast_linear(Operation& operation);
Task broadcast_scatter_allgather(Operation& operation);
Task broadcast_two_level(Operation& operation);
Task broadcast_multicast(Operation& operation);

Task gather_binomial(Operation& operation);
Task gather_linear(Operation& operation);
Task gather_two_level(Operation& operation);
Task gatherv_two_level(Operation& operation);
Task scatter_binomial(Operation& operation);
Task scatter_linear(Operation& operation);
Task scatter_two_level(Operation& operation);
Task scatterv_two_level(Operation& operation);

Task allgather_bruck(Operation& operation);
Task allgather_recursive_doubling(Operation& operation);
Task allgather_ring(Operation& operation);
Task allgather_linear(Operation& operation);
Task allgather_two_level(Operation& operation);
Task allgather_multicast(Operation& operation);

Task alltoall_bruck(Operation& operation);
// At once, in alltoall_linear: with so many partners.
inline constexpr int alltoall_window = 32;
Task alltoall_linear(Operation& operation);
Task alltoall_pairwise(Operation& operation);
Task alltoall_two_level(Operation& operation);
// Of all v forms: what a slot for blocks up to `room` takes. What a rank has for others; of a gatherv at its
// root, what others have.
std::int64_t slot_bytes(std::int64_t room);
BlockUse blocks_for_others(const Operation& operation);
Task alltoallv_two_level(Operation& operation);

Task reduce_binomial(Operation& operation);
Task reduce_linear(Operation& operation);
Task reduce_rabenseifner(Operation& operation);
Task reduce_two_level(Operation& operation);

Task allreduce_recursive_doubling(Operation& operation);
Task allreduce_rabenseifner(Operation& operation);
Task allreduce_ring(Operation& operation);
Task allreduce_two_level(Operation& operation);

Task reduce_scatter_recursive_halving(Operation& operation);
Task reduce_scatter_pairwise(Operation& operation);
Task reduce_scatter_reduce_scatter(Operation& operation);
Task reduce_scatter_two_level(Operation& operation);

Task scan_recursive_doubling(Operation& operation);
Task scan_linear(Operation& operation);

Task neighbor_linear(Operation& operation);

// Between the groups of an intercommunicator; inter() chooses.
Task inter(Operation& operation);
Task inter_barrier(Operation& operation);
Task inter_broadcast(Operation& operation);
Task inter_linear(Operation& operation);
Task inter_reduce(Operation& operation);
Task inter_allreduce(Operation& operation);
Task inter_reduce_scatter(Operation& operation);

}  // namespace hawser::algorithms
