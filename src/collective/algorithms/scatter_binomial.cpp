// Scatter down a binomial tree. Blocks may differ in size if all ranks know the sizes.
#include <algorithm>
#include <cstring>

#include "collective/algorithms/algorithms.h"
#include "collective/algorithms/tree_blocks.h"

namespace hawser::algorithms {

Task scatter_binomial(Operation& operation) {
  const Plan& plan = operation.plan;
  const int ranks = operation.size();
  const int relative = (operation.rank() - plan.root + ranks) % ranks;
  const bool at_root = relative == 0;
  const TreeBlocks tree{at_root || plan.send.sizes != nullptr ? plan.send : plan.receive, plan.root, ranks};

  int subtree = 1;
  while (subtree < ranks && (relative & subtree) == 0) subtree *= 2;
  const int held = std::min(subtree, ranks - relative);
  std::byte* blocks = nullptr;
  if (at_root && plan.root == 0) {
    blocks = plan.send.base;
  } else if (held == 1 && !at_root) {
    blocks = plan.receive.base;
  } else {
    blocks = operation.scratch(tree.bytes(relative, held));
  }

  if (at_root && plan.root != 0) {
    std::byte* to = blocks + tree.bytes(0, 1);
    for (int i = 1; i < ranks; ++i) {
      const std::int64_t bytes = tree.bytes(i, 1);
      operation.copy(to, plan.send.at((plan.root + i) % ranks), bytes);
      to += bytes;
    }
  }
  if (!at_root) {
    operation.receive((relative - subtree + plan.root) % ranks, blocks, tree.bytes(relative, held));
    co_await operation.arrived();
  }
  for (int distance = subtree / 2; distance > 0; distance /= 2) {
    const int child = relative + distance;
    if (child >= ranks) continue;
    const std::int64_t bytes = tree.bytes(child, std::min(distance, ranks - child));
    const int to = (child + plan.root) % ranks;
    operation.send(to, blocks + tree.bytes(relative, distance), bytes);
    if (bytes > most_at_once(operation, to)) co_await operation.arrived();
  }
  if (!at_root && held > 1) operation.copy(plan.receive.base, blocks, tree.bytes(relative, 1));
  co_await operation.arrived();
}

}  // namespace hawser::algorithms
