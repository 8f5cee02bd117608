// Alltoall of two levels. A rank has carriers, one on every node: the rank of the same place there, modulo
// the node's ranks. First the ranks of a node hand each block to its destination's carrier on their node.
// Then carriers send each destination the blocks of their whole node as one message, straight to where they
// belong. So a rank exchanges one message with every other node instead of one with each of its ranks.
#include <algorithm>

#include "collective/algorithms/two_level.h"
#include "collective/engine.h"
#include "collective/shared/collectives.h"

namespace hawser::algorithms {

namespace {

// How many of a node's ranks the rank of this place carries for, on a node of `neighbors` ranks.
int carried(int ranks_there, int place, int neighbors) {
  return place < ranks_there ? (ranks_there - place + neighbors - 1) / neighbors : 0;
}

// What this rank's neighbours carry: the blocks for each of them, in the order of destinations, node by node.
struct ForCarriers {
  Blocks blocks;          // for each place on this node
  std::int64_t own = 0;   // bytes that every neighbour has for us to carry
  std::int64_t here = 0;  // where that for our own node begins
};

ForCarriers pack_for_carriers(Operation& operation) {
  const NodeLayout& nodes = *operation.nodes();
  const Blocks& given = operation.plan.send;
  const std::int64_t block = operation.plan.receive.size;
  const int neighbors = nodes.size_of(nodes.own_node);
  std::byte* const out = operation.scratch(operation.size() * block);
  std::int64_t* const offsets = operation.scratch_numbers(2 * neighbors);
  std::int64_t* const sizes = offsets + neighbors;
  ForCarriers outgoing;
  std::int64_t at = 0;
  for (int j = 0; j < neighbors; ++j) {
    offsets[j] = at;
    for (int n = 0; n < nodes.nodes(); ++n) {
      if (j == nodes.place && n == nodes.own_node) outgoing.here = at - offsets[j];
      for (int q = j; q < nodes.size_of(n); q += neighbors, at += block)
        operation.copy(out + at, given.at(nodes.member(n, q)), block);
    }
    sizes[j] = at - offsets[j];
  }
  outgoing.own = sizes[nodes.place];
  outgoing.blocks = {out, sizes[0], nodes.equal ? nullptr : offsets, nodes.equal ? nullptr : sizes};
  return outgoing;
}

// Calls part(node, place in its block, place in the bytes, bytes) for these bytes of a row of blocks, one of
// each node.
template <class Part>
void for_blocks(std::int64_t block, std::int64_t offset, std::int64_t bytes, Part part) {
  for (std::int64_t done = 0, some = 0; done < bytes; done += some) {
    const std::int64_t at = (offset + done) % block;
    some = std::min(block - at, bytes - done);
    part(static_cast<int>((offset + done) / block), at, done, some);
  }
}

// Between nodes of the same number of ranks. Out of what the program sends, and to where blocks are sent on
// from: plan.receive, node by node.
void exchange_in_area(Operation& operation, SharedCollectives& shared) {
  const NodeLayout& nodes = *operation.nodes();
  const Blocks& given = operation.plan.send;
  const Blocks& sorted = operation.plan.receive;
  CollectiveEngine& engine = operation.engine();
  shared.exchange(
      nodes.nodes() * sorted.size,
      [&](int to, std::int64_t offset, std::byte* out, std::int64_t bytes) {
        for_blocks(sorted.size, offset, bytes,
                   [&](int n, std::int64_t at, std::int64_t done, std::int64_t some) {
                     shared.copy_out(given.at(nodes.member(n, to)) + at, out + done, some);
                     engine.note_copied(0);
                   });
      },
      [&](int from, std::int64_t offset, const std::byte* in, std::int64_t bytes) {
        for_blocks(
            sorted.size, offset, bytes, [&](int n, std::int64_t at, std::int64_t done, std::int64_t some) {
              std::memcpy(sorted.at(n * nodes.most + from) + at, in + done, static_cast<std::size_t>(some));
              engine.note_copied(0);
            });
      });
}

// The same by messages.
Task exchange_by_messages(Operation& operation, std::byte* sorted) {
  const NodeLayout& nodes = *operation.nodes();
  const std::int64_t block = operation.plan.receive.size;
  const ForCarriers outgoing = pack_for_carriers(operation);
  std::byte* const in = operation.scratch(nodes.most * outgoing.own);
  operation.copy(in + nodes.place * outgoing.own, outgoing.blocks.at(nodes.place), outgoing.own);
  among_node(operation);
  operation.plan.send = outgoing.blocks;
  operation.plan.receive = Blocks{in, outgoing.own};
  co_await best(operation, Collective::alltoall, outgoing.own);
  operation.among_all();
  for (int n = 0; n < nodes.nodes(); ++n)
    for (int i = 0; i < nodes.most; ++i)
      operation.copy(sorted + (n * nodes.most + i) * block, in + (i * nodes.nodes() + n) * block, block);
}

// All nodes have the same number of ranks, and carriers do an alltoall among the ranks of one place.
Task between_equal_nodes(Operation& operation, std::byte* arrived) {
  const NodeLayout& nodes = *operation.nodes();
  const Blocks given = operation.plan.send;
  const Blocks result = operation.plan.receive;
  const std::int64_t block = result.size;
  std::byte* const sorted = operation.scratch(operation.size() * block);
  if (takes_turns(operation)) co_await meet_in_background(operation);
  among_node(operation);
  if (operation.node_team() != nullptr) co_await meet(operation, NodePart::up);
  if (has_team(operation, NodePart::up)) {
    operation.plan.receive = Blocks{sorted, block};
    for (int n = 0; n < nodes.nodes(); ++n)
      operation.copy(sorted + (n * nodes.most + nodes.place) * block, given.at(nodes.member(n, nodes.place)),
                     block);
    co_await operation.together(NodePart::up, exchange_in_area);
    operation.among_all();
  } else {
    operation.pass_turn(NodePart::up);
    operation.among_all();
    co_await exchange_by_messages(operation, sorted);
  }
  among_column(operation);
  operation.plan.send = Blocks{sorted, nodes.most * block};
  operation.plan.receive = Blocks{arrived, nodes.most * block};
  co_await best_between(operation, Collective::alltoall, nodes.most * block, 0, nodes.most);
  operation.among_all();
  operation.plan.send = given;
  operation.plan.receive = result;
  for (int i = 0; i < nodes.most; ++i)
    if (i != nodes.place)
      operation.copy(result.at(nodes.member(nodes.own_node, i)),
                     sorted + (nodes.own_node * nodes.most + i) * block, block);
}

// Among carriers of nodes that have different numbers of ranks: in[i] are the blocks of neighbour i, one for
// each destination that this rank carries for, node by node. A window of nodes at a time, as in
// alltoall_linear.
Task exchange_between_unequal(Operation& operation, const std::byte* in, std::int64_t stride,
                              std::byte* arrived) {
  constexpr int window = 32;
  const NodeLayout& nodes = *operation.nodes();
  const std::int64_t block = operation.plan.receive.size;
  const int count = nodes.nodes();
  const int here = nodes.own_node;
  const int neighbors = nodes.size_of(here);
  // Where the blocks for the destinations on each node begin.
  std::int64_t* const starts = operation.scratch_numbers(count + 1);
  starts[0] = 0;
  for (int n = 0; n < count; ++n)
    starts[n + 1] = starts[n] + carried(nodes.size_of(n), nodes.place, neighbors);
  std::byte* const out = operation.scratch(starts[count] * neighbors * block);
  for (int first = 1; first < count; first += window) {
    const int end = std::min(first + window, count);
    for (int d = first; d < end; ++d) {
      const int from = (here - d + count) % count;
      operation.receive(nodes.member(from, nodes.place % nodes.size_of(from)),
                        arrived + nodes.starts[static_cast<std::size_t>(from)] * block,
                        nodes.size_of(from) * block);
    }
    for (int d = first; d < end; ++d) {
      const int to = (here + d) % count;
      for (std::int64_t k = starts[to]; k < starts[to + 1]; ++k) {
        std::byte* const message = out + k * neighbors * block;
        for (int i = 0; i < neighbors; ++i)
          operation.copy(message + i * block, in + i * stride + k * block, block);
        const int place = nodes.place + static_cast<int>(k - starts[to]) * neighbors;
        operation.send(nodes.member(to, place), message, neighbors * block);
      }
    }
    co_await operation.arrived();
  }
}

// Nodes have different numbers of ranks: all by messages.
Task between_unequal_nodes(Operation& operation, std::byte* arrived) {
  const NodeLayout& nodes = *operation.nodes();
  const Blocks given = operation.plan.send;
  const Blocks result = operation.plan.receive;
  const int neighbors = nodes.size_of(nodes.own_node);
  const ForCarriers outgoing = pack_for_carriers(operation);
  std::byte* const in = operation.scratch(neighbors * outgoing.own);
  operation.copy(in + nodes.place * outgoing.own, outgoing.blocks.at(nodes.place), outgoing.own);
  if (neighbors > 1) {
    among_node(operation);
    operation.plan.send = outgoing.blocks;
    operation.plan.receive = Blocks{in, outgoing.own};
    co_await best(operation, Collective::alltoallv, outgoing.own);
    operation.among_all();
  }
  operation.plan.receive = result;
  co_await exchange_between_unequal(operation, in, outgoing.own, arrived);
  operation.plan.send = given;
  for (int i = 0; i < neighbors; ++i)
    if (i != nodes.place)
      operation.copy(result.at(nodes.member(nodes.own_node, i)), in + i * outgoing.own + outgoing.here,
                     result.size);
}

}  // namespace

Task alltoall_two_level(Operation& operation) {
  const NodeLayout& nodes = *operation.nodes();
  const Blocks& result = operation.plan.receive;
  const std::int64_t block = result.size;
  const int ranks = operation.size();
  // In the order of nodes. Where the result has that, too, blocks arrive there.
  std::byte* const arrived = nodes.in_order ? result.base : operation.scratch(ranks * block);
  if (nodes.equal)
    co_await between_equal_nodes(operation, arrived);
  else
    co_await between_unequal_nodes(operation, arrived);
  if (nodes.in_order) co_return;
  for (int i = 0; i < ranks; ++i) {
    const int r = nodes.by_node[static_cast<std::size_t>(i)];
    if (nodes.node_of[static_cast<std::size_t>(r)] != nodes.own_node)
      operation.copy(result.at(r), arrived + i * block, block);
  }
}

}  // namespace hawser::algorithms
