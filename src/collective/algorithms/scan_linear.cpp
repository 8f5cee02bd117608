// Scan and exscan along the chain of ranks: one message each.
#include "collective/algorithms/algorithms.h"
#include "collective/place.h"

namespace hawser::algorithms {

Task scan_linear(Operation& operation) {
  const Operands& operands = operation.plan.operands;
  const int rank = operation.rank();
  const bool last = rank + 1 == operation.size();
  std::byte* const passed_on = operands.data;
  if (rank > 0) {
    const bool exclusive = operation.plan.exclusive;
    std::byte* const below = exclusive ? address(operation.call.receive.buffer)
                                       : operation.scratch_elements(operands.count, *operands.type);
    operation.receive_elements(rank - 1, below, operands.count, *operands.type);
    co_await operation.arrived();
    if (!exclusive || !last) combine(operation, passed_on, below, true, operands.count);
  }
  if (!last) operation.send_elements(rank + 1, passed_on, operands.count, *operands.type);
  co_await operation.arrived();
}

}  // namespace hawser::algorithms
