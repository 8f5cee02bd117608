// Reduce of two levels: within every node to one rank, on its own the root, and between those. The order of
// ranks is kept where the ranks of every node follow each other.
#include "collective/algorithms/two_level.h"

namespace hawser::algorithms {

Task reduce_two_level(Operation& operation) {
  const NodeLayout& nodes = *operation.nodes();
  const int root = operation.plan.root;
  const int rank = operation.rank();
  const std::int64_t elements = operation.plan.operands.count;
  const std::int64_t bytes = elements * operation.plan.operands.type->size;
  const int* const leaders = leaders_with(operation, root);
  if (takes_turns(operation)) co_await meet_in_background(operation);
  among_node(operation);
  operation.plan.root = place_of_leader(operation, leaders);
  if (operation.size() > 1) co_await best(operation, Collective::reduce, bytes, elements);
  if (leaders[nodes.own_node] == rank) {
    among_leaders(operation, leaders);
    operation.plan.root = nodes.node_of[static_cast<std::size_t>(root)];
    co_await best_between(operation, Collective::reduce, bytes, elements);
  }
  operation.plan.root = root;
  operation.among_all();
}

}  // namespace hawser::algorithms
