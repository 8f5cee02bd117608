#include "collective/algorithms/two_level.h"

#include <algorithm>

#include "collective/engine.h"

namespace hawser::algorithms {

void among_node(Operation& operation) {
  const NodeLayout& nodes = *operation.nodes();
  operation.among(nodes.mine.data(), static_cast<int>(nodes.mine.size()), nodes.place);
}

void among_leaders(Operation& operation, const int* leaders) {
  const NodeLayout& nodes = *operation.nodes();
  operation.among(leaders, nodes.nodes(), nodes.own_node);
}

const int* leaders_with(Operation& operation, int root) {
  const NodeLayout& nodes = *operation.nodes();
  const auto count = static_cast<std::int64_t>(nodes.leaders.size());
  int* const leaders =
      reinterpret_cast<int*>(operation.scratch(count * static_cast<std::int64_t>(sizeof(int))));
  std::copy(nodes.leaders.begin(), nodes.leaders.end(), leaders);
  leaders[nodes.node_of[static_cast<std::size_t>(root)]] = root;
  return leaders;
}

int place_of_leader(Operation& operation, const int* leaders) {
  const NodeLayout& nodes = *operation.nodes();
  const auto found = std::lower_bound(nodes.mine.begin(), nodes.mine.end(), leaders[nodes.own_node]);
  return static_cast<int>(found - nodes.mine.begin());
}

void among_column(Operation& operation) {
  const NodeLayout& nodes = *operation.nodes();
  int* const column =
      reinterpret_cast<int*>(operation.scratch(nodes.nodes() * static_cast<std::int64_t>(sizeof(int))));
  for (int n = 0; n < nodes.nodes(); ++n) column[n] = nodes.member(n, nodes.place);
  operation.among(column, nodes.nodes(), nodes.own_node);
}

Blocks node_blocks(Operation& operation, std::byte* base, std::int64_t block) {
  const NodeLayout& nodes = *operation.nodes();
  const int count = nodes.nodes();
  std::int64_t* const offsets = operation.scratch_numbers(2 * count);
  std::int64_t* const sizes = offsets + count;
  for (int n = 0; n < count; ++n) {
    offsets[n] = nodes.starts[static_cast<std::size_t>(n)] * block;
    sizes[n] = nodes.size_of(n) * block;
  }
  return {base, 0, offsets, sizes};
}

static Shape shape_now(const Operation& operation, std::int64_t bytes, std::int64_t elements) {
  Shape shape;
  shape.ranks = operation.size();
  shape.bytes = bytes;
  shape.elements = elements;
  shape.commutative = operation.plan.operands.commutative;
  return shape;
}

Task best(Operation& operation, Collective kind, std::int64_t bytes, std::int64_t elements) {
  return operation.engine().choice().choose(kind, shape_now(operation, bytes, elements)).run(operation);
}

Task best_between(Operation& operation, Collective kind, std::int64_t bytes, std::int64_t elements,
                  int sharing) {
  Shape shape = shape_now(operation, bytes, elements);
  shape.nodes = shape.ranks;
  shape.most_on_node = sharing;
  return operation.engine().choice().choose(kind, shape).run(operation);
}

}  // namespace hawser::algorithms
