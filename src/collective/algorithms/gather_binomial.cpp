// Gather of equal blocks up a binomial tree: log(ranks) messages at the root instead of ranks.
#include <algorithm>
#include <cstring>

#include "collective/algorithms/algorithms.h"

namespace hawser::algorithms {

Task gather_binomial(Operation& operation) {
  const Plan& plan = operation.plan;
  const int ranks = operation.size();
  const int relative = (operation.rank() - plan.root + ranks) % ranks;
  const bool at_root = relative == 0;
  const std::int64_t block = at_root ? plan.receive.size : plan.send.size;

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
    collected = operation.scratch(block * held);
    if (!at_root) std::memcpy(collected, plan.send.base, static_cast<std::size_t>(block));
  }

  for (int distance = 1; distance < subtree; distance *= 2) {
    const int child = relative + distance;
    if (child >= ranks) break;
    const std::int64_t blocks = std::min(distance, ranks - child);
    operation.receive((child + plan.root) % ranks, collected + distance * block, blocks * block);
  }
  co_await operation.arrived();
  if (!at_root) {
    operation.send((relative - subtree + plan.root) % ranks, collected, held * block);
    co_await operation.arrived();
  } else if (!in_order) {
    for (int i = 1; i < ranks; ++i) {
      std::memcpy(plan.receive.at((plan.root + i) % ranks), collected + i * block,
                  static_cast<std::size_t>(block));
    }
  }
}

}  // namespace hawser::algorithms
