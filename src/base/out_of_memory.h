// OutOfMemory: says how much could not be allocated, and for what, to whoever reports it (MPI entry points
// do).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace hawser {

class OutOfMemory final : public std::bad_alloc {
 public:
  // `purpose` is a literal that fits "... bytes for ...".
  OutOfMemory(std::int64_t bytes, const char* purpose) : bytes_(bytes), purpose_(purpose) {}
  const char* what() const noexcept override { return purpose_; }
  std::int64_t bytes() const { return bytes_; }

 private:
  std::int64_t bytes_;
  const char* purpose_;
};

// Memory that is not cleared; throws OutOfMemory.
inline std::unique_ptr<std::byte[]> allocate_bytes(std::int64_t bytes, const char* purpose) {
  std::unique_ptr<std::byte[]> memory(new (std::nothrow) std::byte[static_cast<std::size_t>(bytes)]);
  if (memory == nullptr) throw OutOfMemory(bytes, purpose);
  return memory;
}

}  // namespace hawser
