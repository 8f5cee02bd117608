// Reduce at the root alone, strictly in the order of ranks: the result does not depend on the number of
// ranks' shape, and few ranks need no tree.
#include "collective/algorithms/algorithms.h"

namespace hawser::algorithms {

Task reduce_linear(Operation& operation) {
  const Operands& operands = operation.plan.operands;
  const int ranks = operation.size();
  const int root = operation.plan.root;
  if (operation.rank() != root) {
    operation.send_elements(root, operands.data, operands.count, *operands.type);
    co_await operation.arrived();
    co_return;
  }
  // From the last rank down, because an operation leaves its result in the right operand.
  std::byte* result = operands.data;
  std::byte* other = operation.scratch_elements(operands.count, *operands.type);
  if (root != ranks - 1) {
    result = operation.scratch_elements(operands.count, *operands.type);
    operation.receive_elements(ranks - 1, result, operands.count, *operands.type);
    co_await operation.arrived();
  }
  for (int r = ranks - 2; r >= 0; --r) {
    if (r == root) {
      copy_elements(operation, operands.data, other, operands.count);
    } else {
      operation.receive_elements(r, other, operands.count, *operands.type);
      co_await operation.arrived();
    }
    combine(operation, result, other, true, operands.count);
  }
  if (result != operands.data) copy_elements(operation, result, operands.data, operands.count);
}

}  // namespace hawser::algorithms
