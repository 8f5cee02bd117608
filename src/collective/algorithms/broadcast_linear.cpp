// Broadcast straight from the root to everyone: right for very few ranks.
#include "collective/algorithms/algorithms.h"

namespace hawser::algorithms {

Task broadcast_linear(Operation& operation) {
  const Blocks& data = operation.plan.receive;
  const int root = operation.plan.root;
  if (operation.rank() == root) {
    // The root of a node may have got another amount than it expected: then all others are to notice, too.
    const std::int64_t bytes = operation.failed() ? 0 : data.size;
    for (int i = 1; i < operation.size(); ++i)
      operation.send((root + i) % operation.size(), data.base, bytes);
  } else {
    operation.receive(root, data.base, data.size);
  }
  co_await operation.arrived();
}

}  // namespace hawser::algorithms
