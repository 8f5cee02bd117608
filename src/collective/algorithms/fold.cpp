#include "collective/algorithms/fold.h"

#include <algorithm>
#include <bit>

namespace hawser::algorithms {

Fold Fold::of(const Operation& operation) {
  Fold fold{};
  fold.positions = static_cast<int>(std::bit_floor(static_cast<unsigned>(operation.size())));
  fold.extra = operation.size() - fold.positions;
  if (operation.rank() >= 2 * fold.extra) {
    fold.position = operation.rank() - fold.extra;
  } else {
    fold.position = operation.rank() % 2 == 0 ? -1 : operation.rank() / 2;
  }
  return fold;
}

Task fold_in(Operation& operation, Fold fold) {
  const Operands& operands = operation.plan.operands;
  const int rank = operation.rank();
  if (rank >= 2 * fold.extra) co_return;
  if (fold.position < 0) {
    operation.send_elements(rank + 1, operands.data, operands.count, *operands.type);
    co_await operation.arrived();
    co_return;
  }
  std::byte* other = operation.scratch_elements(operands.count, *operands.type);
  operation.receive_elements(rank - 1, other, operands.count, *operands.type);
  co_await operation.arrived();
  combine(operation, operands.data, other, true, operands.count);
}

Task fold_out(Operation& operation, Fold fold) {
  const Operands& operands = operation.plan.operands;
  const int rank = operation.rank();
  if (rank >= 2 * fold.extra) co_return;
  if (fold.position < 0) {
    operation.receive_elements(rank + 1, operands.data, operands.count, *operands.type);
  } else {
    operation.send_elements(rank - 1, operands.data, operands.count, *operands.type);
  }
  co_await operation.arrived();
}

Task halve(Operation& operation, Fold fold, const std::int64_t* starts, std::byte* other) {
  const Operands& operands = operation.plan.operands;
  int first = 0;
  int end = fold.positions;
  for (int distance = fold.positions / 2; distance > 0; distance /= 2) {
    const int partner = fold.rank_at(fold.position ^ distance);
    const int middle = (first + end) / 2;
    const bool keep_lower = (fold.position & distance) == 0;
    const int keep_first = keep_lower ? first : middle;
    const int keep_end = keep_lower ? middle : end;
    const int give_first = keep_lower ? middle : first;
    const int give_end = keep_lower ? end : middle;
    const std::int64_t kept = starts[keep_end] - starts[keep_first];
    operation.receive_elements(partner, other, kept, *operands.type);
    operation.send_elements(partner, operands.element(starts[give_first]),
                            starts[give_end] - starts[give_first], *operands.type);
    co_await operation.arrived();
    combine(operation, operands.element(starts[keep_first]), other, true, kept);
    first = keep_first;
    end = keep_end;
  }
}

const std::int64_t* equal_parts(Operation& operation, int parts) {
  const std::int64_t count = operation.plan.operands.count;
  std::int64_t* starts = operation.scratch_numbers(parts + 1);
  const std::int64_t whole = count / parts;
  const std::int64_t rest = count % parts;
  for (int i = 0; i <= parts; ++i) starts[i] = i * whole + std::min<std::int64_t>(i, rest);
  return starts;
}

}  // namespace hawser::algorithms
