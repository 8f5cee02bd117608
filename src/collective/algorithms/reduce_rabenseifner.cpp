// Reduce of long vectors (Rabenseifner 2004): reduce-scatter by recursive halving, then gather the parts at
// the root the same way back.
#include "collective/algorithms/algorithms.h"
#include "collective/algorithms/fold.h"

namespace hawser::algorithms {

Task reduce_rabenseifner(Operation& operation) {
  const Operands& operands = operation.plan.operands;
  const int root = operation.plan.root;
  const Fold fold = Fold::of(operation);
  co_await fold_in(operation, fold);
  // A root that stands aside is served by its neighbour.
  const int top = fold.stands_aside(root) ? root + 1 : root;
  if (fold.position >= 0) {
    const std::int64_t* starts = equal_parts(operation, fold.positions);
    std::byte* other = operation.scratch_elements(operands.count, *operands.type);
    co_await halve(operation, fold, starts, other);
    const int top_position = top < 2 * fold.extra ? top / 2 : top - fold.extra;
    for (int distance = 1; distance < fold.positions; distance *= 2) {
      const int partner = fold.position ^ distance;
      const int mine = fold.position & ~(distance - 1);
      const int theirs = partner & ~(distance - 1);
      if (((fold.position ^ top_position) & distance) != 0) {
        operation.send_elements(fold.rank_at(partner), operands.element(starts[mine]),
                                starts[mine + distance] - starts[mine], *operands.type);
        co_await operation.arrived();
        break;
      }
      operation.receive_elements(fold.rank_at(partner), operands.element(starts[theirs]),
                                 starts[theirs + distance] - starts[theirs], *operands.type);
      co_await operation.arrived();
    }
  }
  if (top != root) {
    if (operation.rank() == top) operation.send_elements(root, operands.data, operands.count, *operands.type);
    if (operation.rank() == root)
      operation.receive_elements(top, operands.data, operands.count, *operands.type);
    co_await operation.arrived();
  }
}

}  // namespace hawser::algorithms
