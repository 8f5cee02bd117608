// Broadcast straight from the root to everyone: right for very few ranks.
#include "collective/algorithms/algorithms.h"

namespace hawser::algorithms {

Task broadcast_linear(Operation& operation) {
  const Blocks& data = operation.plan.receive;
  const int root = operation.plan.root;
  if (operation.rank() == root) {
    for (int i = 1; i < operation.size(); ++i) {
      operation.send((root + i) % operation.size(), data.base, data.size);
    }
  } else {
    operation.receive(root, data.base, data.size);
  }
  co_await operation.arrived();
}

}  // namespace hawser::algorithms
