// Reduce-scatter as what its name says: reduce at rank 0, then scatter. Keeps the order of ranks, so it
// serves operations that do not commute.
#include "collective/algorithms/algorithms.h"

namespace hawser::algorithms {

Task reduce_scatter_reduce_scatter(Operation& operation) {
  const Operands& operands = operation.plan.operands;
  const std::int64_t* starts = operands.starts;
  const int rank = operation.rank();
  operation.plan.root = 0;
  co_await reduce_binomial(operation);
  if (rank == 0) {
    for (int r = 1; r < operation.size(); ++r) {
      operation.send_elements(r, operands.element(starts[r]), starts[r + 1] - starts[r], *operands.type);
    }
  } else {
    operation.receive_elements(0, operands.element(starts[rank]), starts[rank + 1] - starts[rank],
                               *operands.type);
  }
  co_await operation.arrived();
}

}  // namespace hawser::algorithms
