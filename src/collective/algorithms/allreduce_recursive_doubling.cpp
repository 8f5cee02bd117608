// Allreduce of short vectors by recursive doubling: partners exchange and reduce whole vectors. Keeps the
// order of ranks, so it also serves operations that do not commute.
#include "collective/algorithms/algorithms.h"
#include "collective/algorithms/fold.h"

namespace hawser::algorithms {

Task allreduce_recursive_doubling(Operation& operation) {
  const Operands& operands = operation.plan.operands;
  const Fold fold = Fold::of(operation);
  if (fold.extra > 0) co_await fold_in(operation, fold);
  if (fold.position >= 0) {
    std::byte* other = operation.scratch_elements(operands.count, *operands.type);
    for (int distance = 1; distance < fold.positions; distance *= 2) {
      const int partner = fold.position ^ distance;
      operation.receive_elements(fold.rank_at(partner), other, operands.count, *operands.type);
      operation.send_elements(fold.rank_at(partner), operands.data, operands.count, *operands.type);
      co_await operation.arrived();
      combine(operation, operands.data, other, partner < fold.position, operands.count);
    }
  }
  if (fold.extra > 0) co_await fold_out(operation, fold);
}

}  // namespace hawser::algorithms
