// Allreduce of long vectors (Rabenseifner 2004): reduce-scatter by recursive halving, then allgather by
// recursive doubling.
#include "collective/algorithms/algorithms.h"
#include "collective/algorithms/fold.h"

namespace hawser::algorithms {

Task allreduce_rabenseifner(Operation& operation) {
  const Operands& operands = operation.plan.operands;
  const Fold fold = Fold::of(operation);
  if (fold.extra > 0) co_await fold_in(operation, fold);
  if (fold.position >= 0) {
    const std::int64_t* starts = equal_parts(operation, fold.positions);
    std::byte* other = operation.scratch_elements(operands.count, *operands.type);
    co_await halve(operation, fold, starts, other);
    for (int distance = 1; distance < fold.positions; distance *= 2) {
      const int partner = fold.position ^ distance;
      const int mine = fold.position & ~(distance - 1);
      const int theirs = partner & ~(distance - 1);
      operation.receive_elements(fold.rank_at(partner), operands.element(starts[theirs]),
                                 starts[theirs + distance] - starts[theirs], *operands.type);
      operation.send_elements(fold.rank_at(partner), operands.element(starts[mine]),
                              starts[mine + distance] - starts[mine], *operands.type);
      co_await operation.arrived();
    }
  }
  if (fold.extra > 0) co_await fold_out(operation, fold);
}

}  // namespace hawser::algorithms
