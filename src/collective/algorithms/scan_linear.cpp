// Scan and exscan along the chain of ranks: one message each.
#include "collective/algorithms/algorithms.h"

namespace hawser::algorithms {

Task scan_linear(Operation& operation) {
  const Operands& operands = operation.plan.operands;
  const int rank = operation.rank();
  const bool last = rank + 1 == operation.size();
  std::byte* passed_on = operands.data;
  if (rank > 0) {
    std::byte* below = operation.scratch_elements(operands.count, *operands.type);
    operation.receive_elements(rank - 1, below, operands.count, *operands.type);
    co_await operation.arrived();
    if (operation.plan.exclusive) {
      passed_on = operation.scratch_elements(operands.count, *operands.type);
      copy_elements(operation, operands.data, passed_on, operands.count);
      copy_elements(operation, below, operands.data, operands.count);
    }
    combine(operation, passed_on, below, true, operands.count);
  }
  if (!last) operation.send_elements(rank + 1, passed_on, operands.count, *operands.type);
  co_await operation.arrived();
}

}  // namespace hawser::algorithms
