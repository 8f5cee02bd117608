// Reduce-scatter by recursive halving (Thakur, Rabenseifner, Gropp 2005): log(ranks) rounds, half of what is
// left is exchanged in each. For commutative operations.
#include "collective/algorithms/algorithms.h"
#include "collective/algorithms/fold.h"

namespace hawser::algorithms {

Task reduce_scatter_recursive_halving(Operation& operation) {
  const Operands& operands = operation.plan.operands;
  const int rank = operation.rank();
  const Fold fold = Fold::of(operation);
  if (fold.extra > 0) co_await fold_in(operation, fold);
  if (fold.position >= 0) {
    // A position reduces its own rank's part and that of the neighbour that stands aside.
    std::int64_t* starts = operation.scratch_numbers(fold.positions + 1);
    for (int p = 0; p < fold.positions; ++p) {
      starts[p] = operands.starts[p < fold.extra ? 2 * p : p + fold.extra];
    }
    starts[fold.positions] = operands.count;
    std::byte* other = operation.scratch_elements(operands.count, *operands.type);
    co_await halve(operation, fold, starts, other);
  }
  if (rank < 2 * fold.extra) {
    const int aside = rank & ~1;
    std::byte* part = operands.element(operands.starts[aside]);
    const std::int64_t count = operands.starts[aside + 1] - operands.starts[aside];
    if (fold.position < 0) {
      operation.receive_elements(rank + 1, part, count, *operands.type);
    } else {
      operation.send_elements(aside, part, count, *operands.type);
    }
    co_await operation.arrived();
  }
}

}  // namespace hawser::algorithms
