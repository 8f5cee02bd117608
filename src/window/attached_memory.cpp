#include "window/attached_memory.h"

#include "mpi/failure.h"

namespace hawser {

Result<> AttachedMemory::attach(const void* base, std::int64_t size) {
  const auto address = reinterpret_cast<std::uintptr_t>(base);
  const auto bytes = static_cast<std::uint64_t>(size);
  if (bytes > UINT64_MAX - address)
    return failure(ErrorClass::rma_attach, "{} bytes at {} are more than the address space", size, base);
  const auto after = pieces_.lower_bound(address);
  const bool reaches_next =
      after != pieces_.end() && (after->first == address || after->first < address + bytes);
  bool in_previous = false;
  if (after != pieces_.begin()) {
    const auto before = std::prev(after);
    in_previous = before->first + before->second > address;
  }
  if (reaches_next || in_previous)
    return failure(ErrorClass::rma_attach, "a part of the {} bytes at {} is attached to the window already",
                   size, base);
  pieces_.emplace(address, bytes);
  return {};
}

Result<> AttachedMemory::detach(const void* base) {
  if (pieces_.erase(reinterpret_cast<std::uintptr_t>(base)) == 0)
    return failure(ErrorClass::rma_attach, "no memory that begins at {} is attached to the window", base);
  return {};
}

bool AttachedMemory::contains(std::uint64_t address, std::uint64_t bytes) const {
  if (bytes == 0) return true;
  if (bytes > UINT64_MAX - address) return false;
  const std::uint64_t end = address + bytes;
  auto piece = pieces_.upper_bound(address);
  if (piece == pieces_.begin()) return false;
  --piece;
  std::uint64_t reached = piece->first + piece->second;
  if (reached <= address) return false;
  while (reached < end) {
    ++piece;
    if (piece == pieces_.end() || piece->first != reached) return false;
    reached = piece->first + piece->second;
  }
  return true;
}

}  // namespace hawser
