// Reduce up a binomial tree. Operations that do not commute are reduced at rank 0, where the order of the
// tree is the order of ranks, and the result is sent on to the root.
#include "collective/algorithms/algorithms.h"

namespace hawser::algorithms {

Task reduce_binomial(Operation& operation) {
  const Operands& operands = operation.plan.operands;
  const int ranks = operation.size();
  const int rank = operation.rank();
  const int root = operation.plan.root;
  const int top = operands.commutative ? root : 0;
  const int relative = (rank - top + ranks) % ranks;
  std::byte* other = nullptr;

  for (int distance = 1; distance < ranks; distance *= 2) {
    if ((relative & distance) != 0) {
      const int parent = (relative - distance + top) % ranks;
      operation.send_elements(parent, operands.data, operands.count, *operands.type);
      co_await operation.arrived();
      break;
    }
    if (relative + distance >= ranks) continue;
    if (other == nullptr) other = operation.scratch_elements(operands.count, *operands.type);
    const int child = (relative + distance + top) % ranks;
    operation.receive_elements(child, other, operands.count, *operands.type);
    co_await operation.arrived();
    combine(operation, operands.data, other, false, operands.count);
  }
  if (top != root) {
    if (rank == top) operation.send_elements(root, operands.data, operands.count, *operands.type);
    if (rank == root) operation.receive_elements(top, operands.data, operands.count, *operands.type);
    co_await operation.arrived();
  }
}

}  // namespace hawser::algorithms
