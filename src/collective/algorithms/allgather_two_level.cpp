// Allgather of two levels: the blocks of a node are gathered at its leader, the leaders gather all nodes',
// and spread them. On the way blocks stand node by node.
#include <algorithm>
#include <cstring>

#include "collective/algorithms/consecutive_blocks.h"
#include "collective/algorithms/two_level.h"

namespace hawser::algorithms {

namespace {

// All blocks, those of a node together.
struct Packed {
  std::byte* base;
  bool copied;  // else they stand in the result
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
  packed.base = nodes.in_order ? consecutive_blocks(blocks, ranks) : nullptr;
  packed.copied = packed.base == nullptr;
  if (packed.copied) packed.base = operation.scratch(packed.bytes);
  packed.by_node = {packed.base, 0, offsets, sizes};
  return packed;
}

// The blocks of this node, where its leader gets them. The size is that of the largest.
Blocks of_node(Operation& operation, const Packed& packed, const Blocks& blocks) {
  const std::vector<int>& mine = operation.nodes()->mine;
  const auto count = static_cast<std::int64_t>(mine.size());
  std::int64_t* const offsets = operation.scratch_numbers(2 * count);
  std::int64_t* const sizes = offsets + count;
  Blocks node{packed.base, 0, offsets, sizes};
  for (std::size_t i = 0; i < mine.size(); ++i) {
    offsets[i] = packed.starts[mine[i]];
    sizes[i] = blocks.bytes(mine[i]);
    node.size = std::max(node.size, sizes[i]);
  }
  return node;
}

Task in_two_levels(Operation& operation, bool by_multicast) {
  const NodeLayout& nodes = *operation.nodes();
  const Blocks blocks = operation.plan.receive;
  const int ranks = operation.size();
  const int rank = operation.rank();
  const int root = operation.plan.root;
  const Packed packed = lay_out(operation);
  const bool copied = packed.copied;
  if (takes_turns(operation)) co_await meet_in_background(operation);

  among_node(operation);
  const int neighbors = operation.size();
  if (copied && nodes.place == 0)
    operation.copy(packed.base + packed.starts[rank], blocks.at(rank), blocks.bytes(rank));
  if (neighbors > 1) {
    operation.plan.root = 0;
    operation.plan.send = Blocks{blocks.at(rank), blocks.bytes(rank)};
    operation.plan.receive = of_node(operation, packed, blocks);
    co_await best(operation, Collective::gatherv, blocks.bytes(rank));
  }

  if (nodes.place == 0) {
    among_leaders(operation, nodes.leaders.data());
    operation.plan.receive = packed.by_node;
    const std::int64_t bytes = packed.bytes / nodes.nodes();
    if (by_multicast)
      co_await allgather_leaders(operation, bytes);
    else
      co_await best_between(operation, Collective::allgatherv, bytes);
    among_node(operation);
  }
  if (neighbors > 1) {
    operation.plan.receive = Blocks{packed.base, packed.bytes};
    co_await best(operation, Collective::broadcast, packed.bytes);
  }
  operation.plan.receive = blocks;
  operation.plan.root = root;
  for (int r = 0; copied && r < ranks; ++r)
    if (r != rank) operation.copy(blocks.at(r), packed.base + packed.starts[r], blocks.bytes(r));
  operation.among_all();
}

}  // namespace

Task allgather_two_level(Operation& operation) { return in_two_levels(operation, false); }
Task allgather_multicast(Operation& operation) { return in_two_levels(operation, true); }

}  // namespace hawser::algorithms
