// Allreduce of very long vectors around a ring (Patarasuk and Yuan 2009): a rank talks to its neighbours only
// and sends 2 * (ranks - 1) / ranks of the vector in all, which is the least possible.
#include "collective/algorithms/algorithms.h"
#include "collective/algorithms/fold.h"

namespace hawser::algorithms {

Task allreduce_ring(Operation& operation) {
  const Operands& operands = operation.plan.operands;
  const int ranks = operation.size();
  const int rank = operation.rank();
  const int right = (rank + 1) % ranks;
  const int left = (rank - 1 + ranks) % ranks;
  const std::int64_t* starts = equal_parts(operation, ranks);
  std::byte* other =
      operation.scratch_elements(starts[1], *operands.type);  // the first part is a largest one

  for (int step = 0; step < ranks - 1; ++step) {
    const int out = (rank - step + ranks) % ranks;
    const int in = (rank - step - 1 + ranks) % ranks;
    operation.receive_elements(left, other, starts[in + 1] - starts[in], *operands.type);
    operation.send_elements(right, operands.element(starts[out]), starts[out + 1] - starts[out],
                            *operands.type);
    co_await operation.arrived();
    combine(operation, operands.element(starts[in]), other, true, starts[in + 1] - starts[in]);
  }
  for (int step = 0; step < ranks - 1; ++step) {
    const int out = (rank + 1 - step + ranks) % ranks;
    const int in = (rank - step + ranks) % ranks;
    operation.receive_elements(left, operands.element(starts[in]), starts[in + 1] - starts[in],
                               *operands.type);
    operation.send_elements(right, operands.element(starts[out]), starts[out + 1] - starts[out],
                            *operands.type);
    co_await operation.arrived();
  }
}

}  // namespace hawser::algorithms
