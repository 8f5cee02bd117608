// Allgather of two levels: the blocks of a node are gathered at its leader, the leaders gather all nodes',
// and spread them. On the way blocks stand node by node.
#include <cstring>

#include "collective/algorithms/two_level.h"

namespace hawser::algorithms {

namespace {

// All blocks, those of a node together.
struct Packed {
  std::byte* base;
  std::int64_t bytes;
  std::int64_t* starts;  // of each rank's block
  Blocks by_node;
};

Packed lay_out(Operation& operation) {
  const NodeLayout& nodes = *operation.nodes();
  const Blocks& blocks = operation.plan.receive;
  Packed packed{};
  const int ranks = operation.size();
  packed.starts = operation.scratch_numbers(ranks);
  std::int64_t* const offsets = operation.scratch_numbers(2 * nodes.nodes());
  std::int64_t* const sizes = offsets + nodes.nodes();
  for (int n = 0; n < nodes.nodes(); ++n) sizes[n] = 0;
  for (int r = 0; r < ranks; ++r) sizes[nodes.node_of[static_cast<std::size_t>(r)]] += blocks.bytes(r);
  for (int n = 0; n < nodes.nodes(); ++n) {
    offsets[n] = packed.bytes;
    packed.bytes += sizes[n];
  }
  std::int64_t* const next = operation.scratch_numbers(nodes.nodes());
  std::memcpy(next, offsets, static_cast<std::size_t>(nodes.nodes()) * sizeof(*next));
  for (int r = 0; r < ranks; ++r) {
    std::int64_t& start = next[nodes.node_of[static_cast<std::size_t>(r)]];
    packed.starts[r] = start;
    start += blocks.bytes(r);
  }
  // Where blocks stand like that in the result already, they are not copied.
  const bool there = nodes.in_order && blocks.regular();
  packed.base = there ? blocks.base : operation.scratch(packed.bytes);
  packed.by_node = {packed.base, 0, offsets, sizes};
  return packed;
}

}  // namespace

Task allgather_two_level(Operation& operation) {
  const NodeLayout& nodes = *operation.nodes();
  const Blocks blocks = operation.plan.receive;
  const int ranks = operation.size();
  const int rank = operation.rank();
  const int root = operation.plan.root;
  const Packed packed = lay_out(operation);
  const bool copied = packed.base != blocks.base;

  among_node(operation);
  const int neighbors = operation.size();
  if (nodes.place == 0) {
    for (int i = 1; i < neighbors; ++i) {
      const int from = nodes.mine[static_cast<std::size_t>(i)];
      operation.receive(i, packed.base + packed.starts[from], blocks.bytes(from));
    }
    if (copied) operation.copy(packed.base + packed.starts[rank], blocks.at(rank), blocks.bytes(rank));
  } else {
    operation.send(0, blocks.at(rank), blocks.bytes(rank));
  }
  co_await operation.arrived();

  if (nodes.place == 0) {
    among_leaders(operation, nodes.leaders.data());
    operation.plan.receive = packed.by_node;
    co_await best_between(operation, Collective::allgatherv, packed.bytes / nodes.nodes());
    among_node(operation);
  }
  if (neighbors > 1) {
    operation.plan.receive = Blocks{packed.base, packed.bytes};
    operation.plan.root = 0;
    co_await best(operation, Collective::broadcast, packed.bytes);
  }
  operation.plan.receive = blocks;
  operation.plan.root = root;
  for (int r = 0; copied && r < ranks; ++r)
    if (r != rank) operation.copy(blocks.at(r), packed.base + packed.starts[r], blocks.bytes(r));
  operation.among_all();
}

}  // namespace hawser::algorithms
