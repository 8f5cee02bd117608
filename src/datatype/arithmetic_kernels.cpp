// SUM, PROD, MIN and MAX on integers, floating-point and complex numbers.
#include <type_traits>

#include "datatype/reduction_kernels.h"
#include "datatype/reduction_loop.h"

namespace hawser {
namespace {

// Signed integers wrap as the machine does; the standard leaves overflow open, and it must not be undefined.
template <class T>
struct WrappingType {
  using type = std::make_unsigned_t<T>;
};
template <>
struct WrappingType<Int128> {
  using type = UnsignedInt128;
};

template <class T>
constexpr bool is_whole_number = std::is_integral_v<T> || std::is_same_v<T, Int128>;
template <class T>
constexpr bool is_complex_pair = false;
template <class T>
constexpr bool is_complex_pair<ComplexPair<T>> = true;

template <class T>
struct Sum {
  static T apply(T a, T b) {
    if constexpr (is_complex_pair<T>) {
      return {Sum<decltype(a.real)>::apply(a.real, b.real),
              Sum<decltype(a.real)>::apply(a.imaginary, b.imaginary)};
    } else if constexpr (is_whole_number<T>) {
      using U = typename WrappingType<T>::type;
      return static_cast<T>(static_cast<U>(static_cast<U>(a) + static_cast<U>(b)));
    } else {
      return static_cast<T>(a + b);
    }
  }
};

template <class T>
struct Product {
  static T apply(T a, T b) {
    if constexpr (is_complex_pair<T>) {
      using Part = decltype(a.real);
      return {static_cast<Part>(a.real * b.real - a.imaginary * b.imaginary),
              static_cast<Part>(a.real * b.imaginary + a.imaginary * b.real)};
    } else if constexpr (is_whole_number<T>) {
      // Wide enough that small types are not promoted to a signed int, whose overflow is undefined.
      using U = typename WrappingType<T>::type;
      using Wide = std::conditional_t<(sizeof(U) < sizeof(unsigned)), unsigned, U>;
      return static_cast<T>(static_cast<U>(static_cast<Wide>(a) * static_cast<Wide>(b)));
    } else {
      return static_cast<T>(a * b);
    }
  }
};

template <class T>
struct Minimum {
  static T apply(T a, T b) { return a < b ? a : b; }
};
template <class T>
struct Maximum {
  static T apply(T a, T b) { return a > b ? a : b; }
};

template <class T>
ReductionKernel find_arithmetic(PredefinedOperator kind) {
  switch (kind) {
    case PredefinedOperator::sum:
      return reduction_loop<T, Sum<T>>;
    case PredefinedOperator::prod:
      return reduction_loop<T, Product<T>>;
    case PredefinedOperator::min:
      if constexpr (!is_complex_pair<T>) return reduction_loop<T, Minimum<T>>;
      return nullptr;
    case PredefinedOperator::max:
      if constexpr (!is_complex_pair<T>) return reduction_loop<T, Maximum<T>>;
      return nullptr;
    case PredefinedOperator::band:
    case PredefinedOperator::bor:
    case PredefinedOperator::bxor:
    case PredefinedOperator::land:
    case PredefinedOperator::lor:
    case PredefinedOperator::lxor:
    case PredefinedOperator::minloc:
    case PredefinedOperator::maxloc:
    case PredefinedOperator::replace:
    case PredefinedOperator::no_op:
      return nullptr;
  }
  return nullptr;
}

}  // namespace

ReductionKernel find_arithmetic_kernel(PredefinedOperator kind, Elementary element) {
  const ElementaryClass element_class = facts(element).element_class;
  if (element_class != ElementaryClass::integer && element_class != ElementaryClass::floating &&
      element_class != ElementaryClass::complex)
    return nullptr;
  switch (element) {
    case Elementary::none:
    case Elementary::pair:
      return nullptr;
#define HAWSER_ELEMENTARY(name, type, external_bytes, kind_class)             \
  case Elementary::name:                                                      \
    if constexpr (ElementaryClass::kind_class == ElementaryClass::integer ||  \
                  ElementaryClass::kind_class == ElementaryClass::floating || \
                  ElementaryClass::kind_class == ElementaryClass::complex)    \
      return find_arithmetic<type>(kind);                                     \
    break;
#include "datatype/elementary_kinds.def"
#undef HAWSER_ELEMENTARY
  }
  return nullptr;
}

}  // namespace hawser
