// Scan and exscan by recursive doubling (Hillis and Steele 1986): after round k a rank knows the reduction
// over its aligned block of 2^(k+1) ranks, and over the ranks of it that do not come after itself.
#include "collective/algorithms/algorithms.h"
#include "collective/place.h"

namespace hawser::algorithms {

Task scan_recursive_doubling(Operation& operation) {
  const Operands& operands = operation.plan.operands;
  const int rank = operation.rank();
  const int size = operation.size();
  const bool exclusive = operation.plan.exclusive;
  std::byte* const result = exclusive ? address(operation.call.receive.buffer) : operands.data;
  bool empty = exclusive;  // nothing below us is in the result yet
  std::byte* block = operands.data;
  if (!exclusive && size > 2) {
    block = operation.scratch_elements(operands.count, *operands.type);
    copy_elements(operation, operands.data, block, operands.count);
  }
  std::byte* const other = operation.scratch_elements(operands.count, *operands.type);

  for (int distance = 1; distance < size; distance *= 2) {
    const int partner = rank ^ distance;
    if (partner >= size) continue;
    // Of what is known after the last round nobody needs more than its result.
    const bool last = 2 * distance >= size;
    std::byte* const into = empty && last ? result : other;
    if (partner < rank || !last) operation.receive_elements(partner, into, operands.count, *operands.type);
    if (partner > rank || !last) operation.send_elements(partner, block, operands.count, *operands.type);
    co_await operation.arrived();
    if (partner < rank && !empty)
      combine(operation, result, other, true, operands.count);
    else if (partner < rank && !last)
      copy_elements(operation, other, result, operands.count);
    empty = empty && partner > rank;
    if (!last) combine(operation, block, other, partner < rank, operands.count);
  }
}

}  // namespace hawser::algorithms
