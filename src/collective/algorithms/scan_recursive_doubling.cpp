// Scan and exscan by recursive doubling (Hillis and Steele 1986): after round k a rank knows the reduction
// over its aligned block of 2^(k+1) ranks, and over the ranks of it that do not come after itself.
#include "collective/algorithms/algorithms.h"

namespace hawser::algorithms {

Task scan_recursive_doubling(Operation& operation) {
  const Operands& operands = operation.plan.operands;
  const int rank = operation.rank();
  std::byte* block = operation.scratch_elements(operands.count, *operands.type);
  std::byte* other = operation.scratch_elements(operands.count, *operands.type);
  copy_elements(operation, operands.data, block, operands.count);
  bool empty = operation.plan.exclusive;  // nothing below us is in operands.data yet

  for (int distance = 1; distance < operation.size(); distance *= 2) {
    const int partner = rank ^ distance;
    if (partner >= operation.size()) continue;
    operation.receive_elements(partner, other, operands.count, *operands.type);
    operation.send_elements(partner, block, operands.count, *operands.type);
    co_await operation.arrived();
    if (partner > rank) {
      combine(operation, block, other, false, operands.count);
      continue;
    }
    if (empty) {
      copy_elements(operation, other, operands.data, operands.count);
      empty = false;
    } else {
      combine(operation, operands.data, other, true, operands.count);
    }
    combine(operation, block, other, true, operands.count);
  }
}

}  // namespace hawser::algorithms
