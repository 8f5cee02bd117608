// Alltoall of two levels. A rank has carriers, one on every node: the rank of the same place there, modulo
// the node's ranks. First the ranks of a node hand each block to its destination's carrier on their node.
// Then carriers send each destination the blocks of their whole node as one message, straight to where they
// belong. So a rank exchanges one message with every other node instead of one with each of its ranks.
#include <algorithm>

#include "collective/algorithms/two_level.h"

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

// Among carriers of nodes with the same number of ranks: an alltoall among the ranks of one place.
Task exchange_between_equal(Operation& operation, const std::byte* in, std::byte* arrived) {
  const NodeLayout& nodes = *operation.nodes();
  const std::int64_t block = operation.plan.receive.size;
  const int count = nodes.nodes();
  const int neighbors = nodes.most;
  std::byte* const out = operation.scratch(operation.size() * block);
  for (int n = 0; n < count; ++n)
    for (int i = 0; i < neighbors; ++i)
      operation.copy(out + (n * neighbors + i) * block, in + (i * count + n) * block, block);
  among_column(operation);
  operation.plan.send = Blocks{out, neighbors * block};
  operation.plan.receive = Blocks{arrived, neighbors * block};
  co_await best_between(operation, Collective::alltoall, neighbors * block, 0, neighbors);
  operation.among_all();
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

}  // namespace

Task alltoall_two_level(Operation& operation) {
  const NodeLayout& nodes = *operation.nodes();
  const Blocks given = operation.plan.send;
  const Blocks result = operation.plan.receive;
  const std::int64_t block = result.size;
  const int ranks = operation.size();
  const int neighbors = nodes.size_of(nodes.own_node);
  const ForCarriers outgoing = pack_for_carriers(operation);

  std::byte* const in = operation.scratch(neighbors * outgoing.own);
  operation.copy(in + nodes.place * outgoing.own, outgoing.blocks.at(nodes.place), outgoing.own);
  if (neighbors > 1) {
    among_node(operation);
    operation.plan.send = outgoing.blocks;
    operation.plan.receive = Blocks{in, outgoing.own};
    co_await best(operation, nodes.equal ? Collective::alltoall : Collective::alltoallv, outgoing.own);
    operation.among_all();
  }
  operation.plan.receive = result;

  // In the order of nodes. Where the result has that, too, blocks arrive there.
  std::byte* const arrived = nodes.in_order ? result.base : operation.scratch(ranks * block);
  if (nodes.equal)
    co_await exchange_between_equal(operation, in, arrived);
  else
    co_await exchange_between_unequal(operation, in, outgoing.own, arrived);
  operation.plan.send = given;
  operation.plan.receive = result;
  for (int i = 0; i < neighbors; ++i)
    if (i != nodes.place)
      operation.copy(result.at(nodes.member(nodes.own_node, i)), in + i * outgoing.own + outgoing.here,
                     block);
  if (nodes.in_order) co_return;
  for (int i = 0; i < ranks; ++i) {
    const int r = nodes.by_node[static_cast<std::size_t>(i)];
    if (nodes.node_of[static_cast<std::size_t>(r)] != nodes.own_node)
      operation.copy(result.at(r), arrived + i * block, block);
  }
}

}  // namespace hawser::algorithms
