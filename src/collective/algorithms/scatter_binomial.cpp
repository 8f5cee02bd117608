// Scatter of equal blocks down a binomial tree.
#include <algorithm>
#include <cstring>

#include "collective/algorithms/algorithms.h"

namespace hawser::algorithms {

Task scatter_binomial(Operation& operation) {
  const Plan& plan = operation.plan;
  const int ranks = operation.size();
  const int relative = (operation.rank() - plan.root + ranks) % ranks;
  const bool at_root = relative == 0;
  const std::int64_t block = at_root ? plan.send.size : plan.receive.size;

  int subtree = 1;
  while (subtree < ranks && (relative & subtree) == 0) subtree *= 2;
  const int held = std::min(subtree, ranks - relative);
  std::byte* blocks = nullptr;
  if (at_root && plan.root == 0) {
    blocks = plan.send.base;
  } else if (held == 1 && !at_root) {
    blocks = plan.receive.base;
  } else {
    blocks = operation.scratch(block * held);
  }

  if (at_root && plan.root != 0) {
    for (int i = 1; i < ranks; ++i) {
      std::memcpy(blocks + i * block, plan.send.at((plan.root + i) % ranks), static_cast<std::size_t>(block));
    }
  }
  if (!at_root) {
    operation.receive((relative - subtree + plan.root) % ranks, blocks, held * block);
    co_await operation.arrived();
  }
  for (int distance = subtree / 2; distance > 0; distance /= 2) {
    const int child = relative + distance;
    if (child >= ranks) continue;
    const std::int64_t count = std::min(distance, ranks - child);
    operation.send((child + plan.root) % ranks, blocks + distance * block, count * block);
  }
  if (!at_root && held > 1) std::memcpy(plan.receive.base, blocks, static_cast<std::size_t>(block));
  co_await operation.arrived();
}

}  // namespace hawser::algorithms
