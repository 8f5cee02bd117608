// The reduction step of a task: two operands become one, in the order of ranks where the operation asks for
// it.
#pragma once

#include "collective/operation.h"

namespace hawser {

// result[i] = lower[i] op result[i] or result[i] op other[i], whichever `other_is_lower` says. `other` may be
// overwritten. `count` elements of the operands' type.
void combine(Operation& operation, std::byte* result, std::byte* other, bool other_is_lower,
             std::int64_t count);

// Copies elements of the operands' type; the places do not overlap.
void copy_elements(Operation& operation, const std::byte* from, std::byte* to, std::int64_t count);

}  // namespace hawser
