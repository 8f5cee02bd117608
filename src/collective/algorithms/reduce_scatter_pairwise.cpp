// Reduce-scatter of long vectors by pairwise exchange: each rank hands every other rank the part that is that
// rank's to reduce. Sends the least data. For commutative operations.
#include "collective/algorithms/algorithms.h"

namespace hawser::algorithms {

Task reduce_scatter_pairwise(Operation& operation) {
  const Operands& operands = operation.plan.operands;
  const int ranks = operation.size();
  const int rank = operation.rank();
  const std::int64_t* starts = operands.starts;
  const std::int64_t own = starts[rank + 1] - starts[rank];
  std::byte* other = operation.scratch_elements(own, *operands.type);
  for (int i = 1; i < ranks; ++i) {
    const int to = (rank + i) % ranks;
    operation.receive_elements((rank - i + ranks) % ranks, other, own, *operands.type);
    operation.send_elements(to, operands.element(starts[to]), starts[to + 1] - starts[to], *operands.type);
    co_await operation.arrived();
    combine(operation, operands.element(starts[rank]), other, true, own);
  }
}

}  // namespace hawser::algorithms
