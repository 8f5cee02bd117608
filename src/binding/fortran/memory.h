// Memory that the Fortran entry points need for a call. When there is none, the job ends with a line that
// names the call, the rank and the bytes, as calls from C do.
#pragma once

#include <memory>
#include <new>
#include <stdexcept>
#include <vector>

#include "base/out_of_memory.h"

namespace hawser::fortran {

[[gnu::cold, noreturn]] void out_of_memory(const char* function, const std::bad_alloc& error) noexcept;

// What make() makes of n elements; `purpose` fits "... bytes for ...".
template <class T, class Make>
auto allocated(std::size_t n, const char* purpose, Make&& make) {
  try {
    return make();
  } catch (const std::bad_alloc&) {
  } catch (const std::length_error&) {
  }
  std::int64_t bytes = INT64_MAX;
  if (n < static_cast<std::size_t>(INT64_MAX) / sizeof(T)) bytes = static_cast<std::int64_t>(n * sizeof(T));
  throw OutOfMemory(bytes, purpose);
}

// Not set to anything.
template <class T>
std::unique_ptr<T[]> make_array(std::size_t n, const char* purpose) {
  return allocated<T>(n, purpose, [&] { return std::make_unique_for_overwrite<T[]>(n); });
}
template <class T>
std::vector<T> make_vector(std::size_t n, const char* purpose, const T& value = {}) {
  return allocated<T>(n, purpose, [&] { return std::vector<T>(n, value); });
}

}  // namespace hawser::fortran
