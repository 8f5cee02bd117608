// Gather of two levels: the blocks of a node are gathered at one of its ranks, on its own node the root, and
// the root gets one message, or a few, for each node.
#include "collective/algorithms/two_level.h"

namespace hawser::algorithms {

Task gather_two_level(Operation& operation) {
  const NodeLayout& nodes = *operation.nodes();
  const int root = operation.plan.root;
  const int rank = operation.rank();
  const bool at_root = rank == root;
  const Blocks own = operation.plan.send;
  const Blocks result = operation.plan.receive;
  const std::int64_t block = at_root ? result.size : own.size;
  const int* const leaders = leaders_with(operation, root);
  const bool leads = leaders[nodes.own_node] == rank;
  const int neighbors = nodes.size_of(nodes.own_node);
  if (takes_turns(operation)) co_await meet_in_background(operation);

  // The blocks of this node, and at the root those of all nodes, where they may lie in the result already.
  Blocks by_node;
  std::byte* blocks = nullptr;
  if (at_root) {
    by_node = node_blocks(operation,
                          nodes.in_order ? result.base : operation.scratch(operation.size() * block), block);
    blocks = by_node.at(nodes.own_node);
  } else if (leads) {
    by_node = node_blocks(operation, nullptr, block);
    blocks = neighbors > 1 ? operation.scratch(neighbors * block) : own.base;
    if (neighbors > 1) operation.copy(blocks + nodes.place * block, own.base, block);
  }
  among_node(operation);
  operation.plan.root = place_of_leader(operation, leaders);
  operation.plan.receive = leads ? Blocks{blocks, block} : Blocks{};
  if (neighbors > 1) co_await best(operation, Collective::gather, block);
  if (leads) {
    among_leaders(operation, leaders);
    operation.plan.root = nodes.node_of[static_cast<std::size_t>(root)];
    operation.plan.send = Blocks{blocks, neighbors * block};
    operation.plan.receive = by_node;
    co_await best_between(operation, Collective::gather, nodes.most * block);
  }
  operation.plan.root = root;
  operation.plan.send = own;
  operation.plan.receive = result;
  operation.among_all();
  if (!at_root || nodes.in_order) co_return;
  for (int i = 0; i < operation.size(); ++i) {
    const int r = nodes.by_node[static_cast<std::size_t>(i)];
    if (r != root) operation.copy(result.at(r), by_node.base + i * block, block);
  }
}

}  // namespace hawser::algorithms
