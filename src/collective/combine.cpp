#include "collective/combine.h"

#include <cstring>

#include "collective/engine.h"

namespace hawser {

void combine(Operation& operation, std::byte* result, std::byte* other, bool other_is_lower,
             std::int64_t count) {
  if (count == 0) return;
  const Operands& operands = operation.plan.operands;
  operation.engine().note_reduced(count * operands.type->size);
  if (other_is_lower || operands.commutative) {
    operands.op->reduce(other, result, count, *operands.type);
    return;
  }
  // The operation leaves its result in the right operand.
  operands.op->reduce(result, other, count, *operands.type);
  copy_elements(operation, other, result, count);
}

void copy_elements(Operation& operation, const std::byte* from, std::byte* to, std::int64_t count) {
  if (count == 0) return;
  Datatype& type = *operation.plan.operands.type;
  if (type.contiguous) {
    std::memcpy(to + type.true_lower_bound, from + type.true_lower_bound,
                static_cast<std::size_t>(count * type.size));
  } else {
    copy_typed(from, count, type, to, count, type);
  }
}

}  // namespace hawser
