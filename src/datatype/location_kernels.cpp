// MINLOC and MAXLOC on pairs of a value and an index, as MPI-5.0 section 6.9.4 has them: of equal values the
// lower index wins.
#include "datatype/reduction_kernels.h"
#include "datatype/reduction_loop.h"

namespace hawser {
namespace {

template <class Value, class Index>
struct Pair {
  Value value;
  Index index;
};

template <class P>
struct MinimumLocation {
  static P apply(P a, P b) {
    const bool left = a.value < b.value || (a.value == b.value && a.index < b.index);
    return left ? a : b;
  }
};
template <class P>
struct MaximumLocation {
  static P apply(P a, P b) {
    const bool left = a.value > b.value || (a.value == b.value && a.index < b.index);
    return left ? a : b;
  }
};

template <class Value, class Index>
ReductionKernel find_location(PredefinedOperator kind) {
  using P = Pair<Value, Index>;
  if (kind == PredefinedOperator::minloc) return reduction_loop<P, MinimumLocation<P>>;
  return kind == PredefinedOperator::maxloc ? reduction_loop<P, MaximumLocation<P>> : nullptr;
}

template <class Value>
ReductionKernel find_index(PredefinedOperator kind, Elementary index) {
  if (index == Elementary::int32) return find_location<Value, std::int32_t>(kind);
  if (index == Elementary::int64 || index == Elementary::c_long)
    return find_location<Value, std::int64_t>(kind);
  return nullptr;
}

}  // namespace

ReductionKernel find_location_kernel(PredefinedOperator kind, PairKinds pair) {
  // Fortran's pairs of two reals hold the index in a real.
  if (pair == PairKinds{Elementary::float32, Elementary::float32}) return find_location<float, float>(kind);
  if (pair == PairKinds{Elementary::float64, Elementary::float64}) return find_location<double, double>(kind);
  switch (pair.value) {
#define HAWSER_ELEMENTARY(name, type, external_bytes, kind_class)            \
  case Elementary::name:                                                     \
    if constexpr (ElementaryClass::kind_class == ElementaryClass::integer || \
                  ElementaryClass::kind_class == ElementaryClass::floating)  \
      return find_index<type>(kind, pair.index);                             \
    break;
#include "datatype/elementary_kinds.def"
#undef HAWSER_ELEMENTARY
    case Elementary::none:
    case Elementary::pair:
      break;
  }
  return nullptr;
}

}  // namespace hawser
