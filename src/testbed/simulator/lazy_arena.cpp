#include "testbed/simulator/lazy_arena.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <new>

namespace hawser {
namespace {

constexpr std::size_t most_reserved = std::size_t{256} << 30, least_reserved = std::size_t{64} << 20;
constexpr std::size_t alignment = 64;
// Giving back fewer pages than this costs more than clearing them.
constexpr std::size_t pages_worth_a_call = 3;

std::size_t page_size() {
  static const auto size = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return size;
}

// Large blocks are whole pages: of most of them only the first is ever used.
std::size_t rounded(std::size_t bytes) {
  const std::size_t unit = bytes > page_size() ? page_size() : alignment;
  return (bytes + unit - 1) / unit * unit;
}

}  // namespace

LazyArena::LazyArena(bool shared) : shared_(shared) {
  // Addresses may be limited (ulimit -v).
  for (reserved_ = most_reserved; reserved_ >= least_reserved; reserved_ /= 2) {
    void* const region = mmap(nullptr, reserved_, PROT_READ | PROT_WRITE,
                              (shared ? MAP_SHARED : MAP_PRIVATE) | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (region == MAP_FAILED) continue;
    region_ = static_cast<std::byte*>(region);
    return;
  }
  throw std::bad_alloc();
}

LazyArena::~LazyArena() { munmap(region_, reserved_); }

std::byte* LazyArena::take(std::size_t bytes) {
  const std::size_t size = rounded(bytes);
  if (const auto known = free_.find(size); known != free_.end() && !known->second.empty()) {
    std::byte* const block = known->second.back();
    known->second.pop_back();
    return block;
  }
  const std::size_t unit = size > page_size() ? page_size() : alignment;
  const std::size_t begin = (used_ + unit - 1) / unit * unit;
  if (begin > reserved_ || size > reserved_ - begin) throw std::bad_alloc();
  used_ = begin + size;
  return region_ + begin;
}

void LazyArena::give_back(std::byte* block, std::size_t bytes) {
  const std::size_t size = rounded(bytes);
  if (size < pages_worth_a_call * page_size() ||
      madvise(block, size, shared_ ? MADV_REMOVE : MADV_DONTNEED) != 0)
    std::memset(block, 0, size);
  free_[size].push_back(block);
}

}  // namespace hawser
