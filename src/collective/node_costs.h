// What the parts of an operation of two levels cost: within the nodes, by messages or through areas, and
// among one rank of each node. Private to link_costs.
#pragma once

#include "collective/algorithm.h"

namespace hawser::link_costs {

// The two levels of an operation: among the ranks of a node, and among ranks of all nodes.
Shape within(const Shape& shape, double bytes);
Shape across(const Shape& shape, double bytes, int sharing);

// All of a node write a line that its leader reads; and a broadcast through an area.
double team_arrives(const Shape& shape, const TransferCosts& costs);
double team_broadcast(const TransferCosts& costs, double bytes);

// A part within the nodes, in the way that it goes there.
struct NodeCost {
  double cost;
  bool by_area;
};
NodeCost node_broadcast(const Shape& shape, const TransferCosts& costs, double bytes);
NodeCost node_reduce(const Shape& shape, const TransferCosts& costs, double bytes);
// `block`: of a rank, for every other one in an all-to-all; the vector of a reduction.
NodeCost node_gather(const Shape& shape, const TransferCosts& costs, double block);
NodeCost node_scatter(const Shape& shape, const TransferCosts& costs, double block);
NodeCost node_alltoall(const Shape& shape, const TransferCosts& costs, double block);
NodeCost node_reduce_scatter(const Shape& shape, const TransferCosts& costs, double bytes);
// Both levels.
NodeCost scatter_levels(const Shape& shape, const TransferCosts& costs);

// Whether the leaders get a short broadcast from the root by itself, which has to send all before it comes to
// its node's part. (It waits for those who ask for a long one in any case.)
bool root_serves_leaders(const Shape& shape, const TransferCosts& costs);

// By messages, of all algorithms that have one level.
double cheapest_broadcast(const Shape& shape, const TransferCosts& costs);
double cheapest_reduce(const Shape& shape, const TransferCosts& costs);
double cheapest_allreduce(const Shape& shape, const TransferCosts& costs);
double cheapest_gather(const Shape& shape, const TransferCosts& costs);
double cheapest_scatter(const Shape& shape, const TransferCosts& costs);
double cheapest_allgather(const Shape& shape, const TransferCosts& costs);
double cheapest_alltoall(const Shape& shape, const TransferCosts& costs);
double cheapest_reduce_scatter(const Shape& shape, const TransferCosts& costs);

}  // namespace hawser::link_costs
