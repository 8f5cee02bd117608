// SUM, PROD, MIN and MAX on integers, floating-point and complex numbers.
#include <array>
#include <iterator>
#include <type_traits>

#include "base/assert.h"
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

// Of one kind of element, by operator. Small reductions are found here as often as they are done, so it is a
// table.
using KernelsOfKind = std::array<ReductionKernel, 4>;
static_assert(static_cast<int>(PredefinedOperator::sum) == 0 &&
              static_cast<int>(PredefinedOperator::min) == 1 &&
              static_cast<int>(PredefinedOperator::max) == 2 &&
              static_cast<int>(PredefinedOperator::prod) == 3);

template <class T, ElementaryClass kind_class>
constexpr KernelsOfKind kernels_of_kind() {
  if constexpr (kind_class == ElementaryClass::integer || kind_class == ElementaryClass::floating) {
    return {reduction_loop<T, Sum<T>>, reduction_loop<T, Minimum<T>>, reduction_loop<T, Maximum<T>>,
            reduction_loop<T, Product<T>>};
  } else if constexpr (kind_class == ElementaryClass::complex) {
    return {reduction_loop<T, Sum<T>>, nullptr, nullptr, reduction_loop<T, Product<T>>};
  } else {
    return {};
  }
}

constexpr KernelsOfKind kernels[] = {
    {},  // none
#define HAWSER_ELEMENTARY(name, type, external_bytes, kind_class) \
  kernels_of_kind<type, ElementaryClass::kind_class>(),
#include "datatype/elementary_kinds.def"
#undef HAWSER_ELEMENTARY
    {},  // pair
};
static_assert(std::size(kernels) == static_cast<std::size_t>(Elementary::pair) + 1);

}  // namespace

ReductionKernel find_arithmetic_kernel(PredefinedOperator kind, Elementary element) {
  HAWSER_ASSERT(kind <= PredefinedOperator::prod && element <= Elementary::pair);
  return kernels[static_cast<std::size_t>(element)][static_cast<std::size_t>(kind)];
}

}  // namespace hawser
