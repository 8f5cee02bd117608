// Broadcast of two levels: from the root to one rank of every node, and from there within the nodes.
#include "collective/algorithms/two_level.h"

namespace hawser::algorithms {

Task broadcast_two_level(Operation& operation) {
  const NodeLayout& nodes = *operation.nodes();
  const int root = operation.plan.root;
  const int rank = operation.rank();
  const std::int64_t bytes = operation.plan.receive.size;
  const int* const leaders = leaders_with(operation, root);
  if (takes_turns(operation)) co_await meet_in_background(operation);
  if (leaders[nodes.own_node] == rank) {
    among_leaders(operation, leaders);
    operation.plan.root = nodes.node_of[static_cast<std::size_t>(root)];
    co_await best_between(operation, Collective::broadcast, bytes);
  }
  among_node(operation);
  operation.plan.root = place_of_leader(operation, leaders);
  if (operation.size() > 1) co_await best(operation, Collective::broadcast, bytes);
  operation.plan.root = root;
  operation.among_all();
}

}  // namespace hawser::algorithms
