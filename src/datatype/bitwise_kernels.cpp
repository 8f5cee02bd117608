// BAND, BOR, BXOR on integers and bytes; LAND, LOR, LXOR on integers and logicals.
#include "datatype/reduction_kernels.h"
#include "datatype/reduction_loop.h"

namespace hawser {
namespace {

template <class T>
struct BitAnd {
  static T apply(T a, T b) { return static_cast<T>(a & b); }
};
template <class T>
struct BitOr {
  static T apply(T a, T b) { return static_cast<T>(a | b); }
};
template <class T>
struct BitXor {
  static T apply(T a, T b) { return static_cast<T>(a ^ b); }
};
// Any value but 0 is true; the answer is 0 or 1, which is .true. in gfortran.
template <class T>
struct LogicalAnd {
  static T apply(T a, T b) { return static_cast<T>((a != 0) & (b != 0)); }
};
template <class T>
struct LogicalOr {
  static T apply(T a, T b) { return static_cast<T>((a != 0) | (b != 0)); }
};
template <class T>
struct LogicalXor {
  static T apply(T a, T b) { return static_cast<T>((a != 0) ^ (b != 0)); }
};

// Signedness does not matter to any of these, so one kernel serves all kinds of a size.
template <class T>
ReductionKernel find_bitwise(PredefinedOperator kind) {
  switch (kind) {
    case PredefinedOperator::band:
      return reduction_loop<T, BitAnd<T>>;
    case PredefinedOperator::bor:
      return reduction_loop<T, BitOr<T>>;
    case PredefinedOperator::bxor:
      return reduction_loop<T, BitXor<T>>;
    case PredefinedOperator::land:
      return reduction_loop<T, LogicalAnd<T>>;
    case PredefinedOperator::lor:
      return reduction_loop<T, LogicalOr<T>>;
    case PredefinedOperator::lxor:
      return reduction_loop<T, LogicalXor<T>>;
    case PredefinedOperator::sum:
    case PredefinedOperator::min:
    case PredefinedOperator::max:
    case PredefinedOperator::prod:
    case PredefinedOperator::minloc:
    case PredefinedOperator::maxloc:
    case PredefinedOperator::replace:
    case PredefinedOperator::no_op:
      return nullptr;
  }
  return nullptr;
}

bool is_bitwise(PredefinedOperator kind) {
  return kind == PredefinedOperator::band || kind == PredefinedOperator::bor ||
         kind == PredefinedOperator::bxor;
}

}  // namespace

ReductionKernel find_bitwise_kernel(PredefinedOperator kind, Elementary element) {
  const ElementaryFacts& fact = facts(element);
  const bool valid =
      fact.element_class == ElementaryClass::integer ||
      fact.element_class == (is_bitwise(kind) ? ElementaryClass::byte : ElementaryClass::logical);
  if (!valid) return nullptr;
  switch (fact.size) {
    case 1:
      return find_bitwise<std::uint8_t>(kind);
    case 2:
      return find_bitwise<std::uint16_t>(kind);
    case 4:
      return find_bitwise<std::uint32_t>(kind);
    case 8:
      return find_bitwise<std::uint64_t>(kind);
    case 16:
      return find_bitwise<UnsignedInt128>(kind);
    default:
      return nullptr;
  }
}

}  // namespace hawser
