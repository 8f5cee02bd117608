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

Task best(Operation& operation, Collective kind, std::int64_t bytes, std::int64_t elements) {
  Shape shape;
  shape.ranks = operation.size();
  shape.bytes = bytes;
  shape.elements = elements;
  shape.commutative = operation.plan.operands.commutative;
  return operation.engine().choice().choose(kind, shape).run(operation);
}

}  // namespace hawser::algorithms
