// Fold: how a number of ranks that is no power of two takes part in an algorithm that needs one. Of the first
// 2 * extra ranks each even one hands its operand to the odd one above it and stands aside; the ranks that
// are left have positions 0 .. positions - 1, in the order of ranks, so order is kept for operations that
// need it.
#pragma once

#include "collective/combine.h"
#include "collective/operation.h"
#include "collective/task.h"

namespace hawser::algorithms {

struct Fold {
  int positions;  // the largest power of two that is not above the number of ranks
  int extra;      // ranks that stand aside
  int position;   // of this rank; -1: it stands aside

  static Fold of(const Operation& operation);
  int rank_at(int p) const { return p < extra ? 2 * p + 1 : p + extra; }
  bool stands_aside(int rank) const { return rank < 2 * extra && rank % 2 == 0; }
};

// The operands of the ranks that stand aside go into their neighbours'.
Task fold_in(Operation& operation, Fold fold);
// The result goes back to them.
Task fold_out(Operation& operation, Fold fold);

// Reduce-scatter by recursive halving among the positions (Thakur, Rabenseifner, Gropp 2005): in the end the
// elements starts[p] .. starts[p + 1] of position p are reduced. For commutative operations. `other` is
// memory for all elements.
Task halve(Operation& operation, Fold fold, const std::int64_t* starts, std::byte* other);

// positions + 1 starts that cut the operands into equal parts.
const std::int64_t* equal_parts(Operation& operation, int parts);

}  // namespace hawser::algorithms
