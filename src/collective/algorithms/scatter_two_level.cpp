// Scatter of two levels: the root sends one rank of every node all blocks of the node, and that one spreads
// them. On its own node the root does.
#include "collective/algorithms/two_level.h"

namespace hawser::algorithms {

Task scatter_two_level(Operation& operation) {
  const NodeLayout& nodes = *operation.nodes();
  const int root = operation.plan.root;
  const int rank = operation.rank();
  const bool at_root = rank == root;
  const Blocks given = operation.plan.send;
  const Blocks own = operation.plan.receive;
  const std::int64_t block = at_root ? given.size : own.size;
  const int* const leaders = leaders_with(operation, root);
  const bool leads = leaders[nodes.own_node] == rank;
  const int neighbors = nodes.size_of(nodes.own_node);
  if (takes_turns(operation)) co_await meet_in_background(operation);

  Blocks by_node;
  std::byte* blocks = nullptr;  // of this node
  if (at_root) {
    by_node = node_blocks(operation,
                          nodes.in_order ? given.base : operation.scratch(operation.size() * block), block);
    blocks = by_node.at(nodes.own_node);
    for (int i = 0; i < operation.size() && !nodes.in_order; ++i) {
      const int r = nodes.by_node[static_cast<std::size_t>(i)];
      if (r != root) operation.copy(by_node.base + i * block, given.at(r), block);
    }
  } else if (leads) {
    by_node = node_blocks(operation, nullptr, block);
    blocks = neighbors > 1 ? operation.scratch(neighbors * block) : own.base;
  }
  if (leads) {
    among_leaders(operation, leaders);
    operation.plan.root = nodes.node_of[static_cast<std::size_t>(root)];
    operation.plan.send = by_node;
    operation.plan.receive = Blocks{blocks, neighbors * block};
    co_await best_between(operation, Collective::scatter, nodes.most * block);
    if (!at_root && neighbors > 1) operation.copy(own.base, blocks + nodes.place * block, block);
  }
  among_node(operation);
  operation.plan.root = place_of_leader(operation, leaders);
  operation.plan.send = leads ? Blocks{blocks, block} : Blocks{};
  operation.plan.receive = own;
  if (neighbors > 1) co_await best(operation, Collective::scatter, block);
  operation.plan.root = root;
  operation.plan.send = given;
  operation.among_all();
}

}  // namespace hawser::algorithms
