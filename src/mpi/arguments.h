// Values that stand for something else in the arguments of core functions, and the view through which the
// core reads arrays of counts. An ABI's own numbers are translated to these by binding/.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hawser {

// A function pointer of the application, of a type that only its ABI's binding knows.
using AbiFunction = void (*)();

// Buffer addresses with a meaning. MPI_BOTTOM is the null pointer.
inline void* const in_place = reinterpret_cast<void*>(-1);
inline void* const buffer_automatic = reinterpret_cast<void*>(-2);

// Edge weights with a meaning (MPI_Dist_graph_create).
inline int* const unweighted = reinterpret_cast<int*>(-3);
inline int* const weights_empty = reinterpret_cast<int*>(-4);

// An array of counts or displacements as the application holds it: of int, or of a 64-bit type. May be null
// (null also where the standard says the argument is not significant). Does not know its length.
class IntegerArray {
 public:
  IntegerArray() = default;
  IntegerArray(std::nullptr_t) {}
  IntegerArray(const int* values) : values_(values) {}
  IntegerArray(const std::int64_t* values) : values_(values), wide_(true) {}
  IntegerArray(const long long* values) : values_(values), wide_(true) {
    static_assert(sizeof(long long) == sizeof(std::int64_t));
  }

  std::int64_t operator[](std::size_t index) const {
    return wide_ ? static_cast<const std::int64_t*>(values_)[index] : static_cast<const int*>(values_)[index];
  }
  explicit operator bool() const { return values_ != nullptr; }

 private:
  const void* values_ = nullptr;
  bool wide_ = false;
};

}  // namespace hawser
