// Reduce-scatter of two levels. A rank has carriers, one on every node, as in alltoall_two_level. First each
// node reduces its ranks' vectors, so that a carrier has the node's sum of the parts of those for whom it
// carries. Then the nodes' sums go straight to where they belong. Between nodes that is as many times less
// data as nodes have ranks.
#include "collective/algorithms/two_level.h"
#include "collective/engine.h"

namespace hawser::algorithms {

namespace {

// The vector in the order in which this node carries it: for each place, of all nodes. `parts` gets where
// those of each place begin, `pieces` where each node's begin in what this rank carries.
Operands in_order_of_carriers(Operation& operation, std::int64_t* parts, std::int64_t* pieces) {
  const NodeLayout& nodes = *operation.nodes();
  const Operands& given = operation.plan.operands;
  const int neighbors = nodes.size_of(nodes.own_node);
  Operands carried = given;
  carried.data = operation.scratch_elements(given.count, *given.type);
  carried.starts = parts;
  std::int64_t at = 0;
  for (int j = 0; j < neighbors; ++j) {
    parts[j] = at;
    for (int n = 0; n < nodes.nodes(); ++n) {
      if (j == nodes.place) pieces[n] = at - parts[j];
      for (int q = j; q < nodes.size_of(n); q += neighbors) {
        const int r = nodes.member(n, q);
        const std::int64_t count = given.starts[r + 1] - given.starts[r];
        copy_elements(operation, given.element(given.starts[r]), carried.element(at), count);
        operation.engine().note_copied(count * given.type->size);
        at += count;
      }
    }
    if (j == nodes.place) pieces[nodes.nodes()] = at - parts[j];
  }
  parts[neighbors] = at;
  return carried;
}

// Between nodes that have different numbers of ranks: the sums go to whom they are for, which reduces them in
// the order of nodes. `own` is this node's sum of this rank's part.
Task reduce_between_unequal(Operation& operation, const std::int64_t* pieces, std::byte* own) {
  const NodeLayout& nodes = *operation.nodes();
  const Operands& carried = operation.plan.operands;
  const int neighbors = nodes.size_of(nodes.own_node);
  const std::int64_t* const starts = operation.plan.operands.starts;
  const int rank = operation.rank();
  const std::int64_t count = starts[rank + 1] - starts[rank];
  for (int n = 0; n < nodes.nodes(); ++n) {
    if (n == nodes.own_node) continue;
    std::int64_t at = pieces[n];
    for (int q = nodes.place; q < nodes.size_of(n); q += neighbors) {
      const int r = nodes.member(n, q);
      operation.send_elements(r, carried.element(at), starts[r + 1] - starts[r], *carried.type);
      at += starts[r + 1] - starts[r];
    }
  }
  std::byte* const others = operation.scratch_elements(count * nodes.nodes(), *carried.type);
  for (int n = 0; n < nodes.nodes(); ++n) {
    if (n == nodes.own_node) continue;
    operation.receive_elements(nodes.member(n, nodes.place % nodes.size_of(n)),
                               others + n * count * carried.extent, count, *carried.type);
  }
  co_await operation.arrived();
  for (int n = nodes.own_node - 1; n >= 0; --n)
    combine(operation, own, others + n * count * carried.extent, true, count);
  for (int n = nodes.own_node + 1; n < nodes.nodes(); ++n)
    combine(operation, own, others + n * count * carried.extent, false, count);
}

}  // namespace

Task reduce_scatter_two_level(Operation& operation) {
  const NodeLayout& nodes = *operation.nodes();
  const Operands given = operation.plan.operands;
  const int root = operation.plan.root;
  const int rank = operation.rank();
  const int neighbors = nodes.size_of(nodes.own_node);
  if (takes_turns(operation)) co_await meet_in_background(operation);
  std::int64_t* const parts = operation.scratch_numbers(neighbors + 1);
  std::int64_t* const pieces = operation.scratch_numbers(nodes.nodes() + 1);
  operation.plan.operands = in_order_of_carriers(operation, parts, pieces);
  if (neighbors > 1) {
    among_node(operation);
    co_await best(operation, Collective::reduce_scatter, given.count * given.type->size, given.count);
    operation.among_all();
  }

  Operands& operands = operation.plan.operands;
  operands.data = operands.element(parts[nodes.place]);
  operands.count = parts[nodes.place + 1] - parts[nodes.place];
  std::byte* const own = operands.element(pieces[nodes.own_node]);
  if (nodes.equal) {
    operands.starts = pieces;
    among_column(operation);
    co_await best_between(operation, Collective::reduce_scatter, operands.count * given.type->size,
                          operands.count, neighbors);
    operation.among_all();
  } else {
    operands.starts = given.starts;
    co_await reduce_between_unequal(operation, pieces, own);
  }
  operation.plan.operands = given;
  operation.plan.root = root;
  copy_elements(operation, own, given.element(given.starts[rank]),
                given.starts[rank + 1] - given.starts[rank]);
}

}  // namespace hawser::algorithms
