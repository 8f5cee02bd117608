// What algorithms cost: each message is looked at, whether it stays within a node, how many ranks of the node
// share its link for it, whether it is one of many that one rank has under way at once, and whether it is so
// long that its receiver must be asked.
#pragma once

#include "collective/algorithm.h"

namespace hawser::link_costs {

// Of a block, or of the vector; a guess where not all ranks know.
inline double bytes(const Shape& shape) {
  return shape.bytes < 0 ? 1024.0 : static_cast<double>(shape.bytes);
}

NodeAreas areas_of_node(Collective kind, const Shape& shape, const TransferCosts& costs);

// Of a reduction there is a part for each rank, and the order does not matter.
inline bool divisible(const Shape& shape) { return shape.commutative && shape.elements >= shape.ranks; }

double barrier_dissemination(const Shape& shape, const TransferCosts& costs);
double barrier_two_level(const Shape& shape, const TransferCosts& costs);

double broadcast_binomial(const Shape& shape, const TransferCosts& costs);
double broadcast_linear(const Shape& shape, const TransferCosts& costs);
double broadcast_scatter_allgather(const Shape& shape, const TransferCosts& costs);
double broadcast_two_level(const Shape& shape, const TransferCosts& costs);
double broadcast_multicast(const Shape& shape, const TransferCosts& costs);

double gather_linear(const Shape& shape, const TransferCosts& costs);
double gather_binomial(const Shape& shape, const TransferCosts& costs);
double gather_two_level(const Shape& shape, const TransferCosts& costs);

double scatter_linear(const Shape& shape, const TransferCosts& costs);
double scatter_binomial(const Shape& shape, const TransferCosts& costs);
double scatter_two_level(const Shape& shape, const TransferCosts& costs);

double allgather_recursive_doubling(const Shape& shape, const TransferCosts& costs);
double allgather_bruck(const Shape& shape, const TransferCosts& costs);
double allgather_ring(const Shape& shape, const TransferCosts& costs);
double allgather_linear(const Shape& shape, const TransferCosts& costs);
double allgather_two_level(const Shape& shape, const TransferCosts& costs);
double allgather_multicast(const Shape& shape, const TransferCosts& costs);

double alltoall_bruck(const Shape& shape, const TransferCosts& costs);
double alltoall_linear(const Shape& shape, const TransferCosts& costs);
double alltoall_pairwise(const Shape& shape, const TransferCosts& costs);
double alltoall_two_level(const Shape& shape, const TransferCosts& costs);

double reduce_binomial(const Shape& shape, const TransferCosts& costs);
double reduce_linear(const Shape& shape, const TransferCosts& costs);
double reduce_rabenseifner(const Shape& shape, const TransferCosts& costs);
double reduce_two_level(const Shape& shape, const TransferCosts& costs);

double allreduce_recursive_doubling(const Shape& shape, const TransferCosts& costs);
double allreduce_rabenseifner(const Shape& shape, const TransferCosts& costs);
double allreduce_ring(const Shape& shape, const TransferCosts& costs);
double allreduce_two_level(const Shape& shape, const TransferCosts& costs);

double reduce_scatter_halving(const Shape& shape, const TransferCosts& costs);
double reduce_scatter_pairwise(const Shape& shape, const TransferCosts& costs);
double reduce_scatter_two_level(const Shape& shape, const TransferCosts& costs);

double scan_recursive_doubling(const Shape& shape, const TransferCosts& costs);
double scan_linear(const Shape& shape, const TransferCosts& costs);

}  // namespace hawser::link_costs
