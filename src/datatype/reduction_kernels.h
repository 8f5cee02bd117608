// The loops of the predefined operators, one for each operator and elementary kind.
#pragma once

#include <cstdint>

#include "datatype/elementary.h"
#include "datatype/operator.h"

namespace hawser {

// out[i] = a[i] op b[i] for `count` elements one behind the other; out may be a or b, or apart from both.
using ReductionKernel = void (*)(const void* a, const void* b, void* out, std::int64_t count);

// Null if the operator is not defined for the kind (MPI-5.0 section 6.9.2). REPLACE and NO_OP have none.
ReductionKernel find_kernel(PredefinedOperator kind, Elementary element, PairKinds pair);

// The parts of find_kernel, each in a file of its own to keep compilations small.
ReductionKernel find_arithmetic_kernel(PredefinedOperator kind, Elementary element);
ReductionKernel find_bitwise_kernel(PredefinedOperator kind, Elementary element);
ReductionKernel find_location_kernel(PredefinedOperator kind, PairKinds pair);

}  // namespace hawser
