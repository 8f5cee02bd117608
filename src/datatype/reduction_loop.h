// The loop under every reduction kernel. Included by the kernels' files only, which are compiled with
// loops vectorised (see CMakeLists.txt at the top).
#pragma once

#include <cstdint>

namespace hawser {

// `Operation::apply(T, T)` gives the result. The three cases of aliasing are told apart so that the compiler
// can vectorise each without checks; operands keep their sides in all of them.
template <class T, class Operation>
void reduction_loop(const void* a, const void* b, void* out, std::int64_t count) {
  if (out == b) {
    const T* __restrict left = static_cast<const T*>(a);
    T* __restrict result = static_cast<T*>(out);
    for (std::int64_t i = 0; i < count; ++i) result[i] = Operation::apply(left[i], result[i]);
  } else if (out == a) {
    const T* __restrict right = static_cast<const T*>(b);
    T* __restrict result = static_cast<T*>(out);
    for (std::int64_t i = 0; i < count; ++i) result[i] = Operation::apply(result[i], right[i]);
  } else {
    const T* left = static_cast<const T*>(a);
    const T* right = static_cast<const T*>(b);
    T* __restrict result = static_cast<T*>(out);
    for (std::int64_t i = 0; i < count; ++i) result[i] = Operation::apply(left[i], right[i]);
  }
}

}  // namespace hawser
