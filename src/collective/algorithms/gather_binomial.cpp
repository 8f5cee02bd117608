// Gather up a binomial tree: log(ranks) messages at the root instead of ranks. Blocks may differ in size if
// all ranks know the sizes.
#include <algorithm>
#include <cstring>

#include "collective/algorithms/algorithms.h"
#include "collective/algorithms/tree_blocks.h"

namespace hawser::algorithms {

Task gather_binomial(Operation& operation) {
  const Plan& plan = operation.plan;
  const int ranks = operation.size();
  const int relative = (operation.rank() - plan.root + ranks) % ranks;
  const bool at_root = relative == 0;
  const TreeBlocks tree{at_root || plan.receive.sizes != nullptr ? plan.receive : plan.send, plan.root,
                        ranks};

  // The blocks of the subtree, in order of relative rank from our own on.
  int subtree = 1;
  while (subtree < ranks && (relative & subtree) == 0) subtree *= 2;
  const int held = std::min(subtree, ranks - relative);
  // The root gathers straight into its buffer when ranks and relative ranks are the same.
  const bool in_order = at_root && plan.root == 0;
  std::byte* collected = nullptr;
  if (in_order) {
    collected = plan.receive.base;
  } else if (held == 1) {
    collected = plan.send.base;
  } else {
    collected = operation.scratch(tree.bytes(relative, held));
    if (!at_root) operation.copy(collected, plan.send.base, tree.bytes(relative, 1));
  }

  for (int distance = 1; distance < subtree; distance *= 2) {
    const int child = relative + distance;
    if (child >= ranks) break;
    operation.receive((child + plan.root) % ranks, collected + tree.bytes(relative, distance),
                      tree.bytes(child, std::min(distance, ranks - child)));
  }
  co_await operation.arrived();
  if (!at_root) {
    operation.send((relative - subtree + plan.root) % ranks, collected, tree.bytes(relative, held));
    co_await operation.arrived();
  } else if (!in_order) {
    std::byte* from = collected + tree.bytes(0, 1);
    for (int i = 1; i < ranks; ++i) {
      const std::int64_t bytes = tree.bytes(i, 1);
      operation.copy(plan.receive.at((plan.root + i) % ranks), from, bytes);
      from += bytes;
    }
  }
}

}  // namespace hawser::algorithms
