// From the arguments of a collective operation to its plan before the algorithm runs, and from the plan's
// buffers to the program's after it.
#pragma once

#include "collective/operation.h"

namespace hawser {

// Packs what must be packed, copies this rank's own block, resolves MPI_IN_PLACE.
void make_plan(Operation& operation);
// Unpacks what was packed and puts results where they belong.
void finish_plan(Operation& operation);
// The part for reductions: this rank's contribution, `count` elements, in plan.operands.data: at `place`, or
// if that is null in scratch memory.
void plan_operands(Operation& operation, std::byte* place, std::int64_t count);

}  // namespace hawser
