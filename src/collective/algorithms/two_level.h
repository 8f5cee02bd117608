// What algorithms of two levels have in common: first within nodes, then between their leaders, or the other
// way round; on each level the algorithm that is the cheapest there.
#pragma once

#include "collective/algorithms/algorithms.h"
#include "collective/node_layout.h"

namespace hawser::algorithms {

// Among the ranks of this process's node, as 0, 1, ...
void among_node(Operation& operation);
// Among one rank of each node, as the nodes are numbered; by those only. Numbers from leaders_with.
void among_leaders(Operation& operation, const int* leaders);
// The nodes' first ranks, but for its own node the root.
const int* leaders_with(Operation& operation, int root);
// Where this process's node has its leader among its ranks.
int place_of_leader(Operation& operation, const int* leaders);

// The cheapest algorithm over plan, among those who take part now, to be awaited at once. `bytes` and
// `elements` as in Shape.
Task best(Operation& operation, Collective kind, std::int64_t bytes, std::int64_t elements = 0);

}  // namespace hawser::algorithms
