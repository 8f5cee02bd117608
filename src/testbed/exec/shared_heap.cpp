#include "testbed/exec/shared_heap.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace hawser::shared_heap {
namespace {

constexpr std::size_t most_reserved = std::size_t{256} << 30, least_reserved = std::size_t{1} << 30;
constexpr std::size_t unit = 16;
constexpr std::size_t steps = 4;  // classes of blocks between a power of two and the next
constexpr std::size_t classes = 64 * steps;
// Free blocks from here on give their pages back to the system.
constexpr std::size_t large = 128 * 1024;
constexpr std::size_t page = 4096;

// Stands before what is handed out.
struct Header {
  std::byte* block;  // its begin: before the header, where an alignment was asked for
  std::size_t size_class;
};
static_assert(sizeof(Header) == unit);

struct FreeBlock {
  FreeBlock* next;
};

// In the shared memory itself, at its begin.
struct Heap {
  std::byte* next;
  std::byte* end;
  FreeBlock* free[classes];
};

Heap* heap = nullptr;

// Blocks of class c have bytes_of(c) bytes: 16, 32, 48, 64, 80, 96, 112, 128, 160, ...
std::size_t class_of(std::size_t bytes) {
  const std::size_t units = (bytes + unit - 1) / unit;
  if (units <= steps) return units;
  const auto power =
      static_cast<std::size_t>(std::bit_width(units - 1)) - 1;  // 2^power < units <= 2^(power+1)
  const std::size_t step = (std::size_t{1} << power) / steps;
  return (power - 1) * steps + (units - (std::size_t{1} << power) + step - 1) / step;
}

std::size_t bytes_of(std::size_t size_class) {
  if (size_class <= steps) return size_class * unit;
  const std::size_t power = (size_class - 1) / steps + 1, over = (size_class - 1) % steps + 1;
  return ((std::size_t{1} << power) + over * ((std::size_t{1} << power) / steps)) * unit;
}

void* take(std::size_t bytes, std::size_t alignment) {
  const std::size_t extra = alignment > unit ? alignment : 0;
  const std::size_t size_class = class_of(bytes + sizeof(Header) + extra);
  std::byte* block = nullptr;
  if (FreeBlock* const known = heap->free[size_class]) {
    heap->free[size_class] = known->next;
    block = reinterpret_cast<std::byte*>(known);
  } else {
    const std::size_t size = bytes_of(size_class);
    if (size > static_cast<std::size_t>(heap->end - heap->next)) return nullptr;
    block = heap->next;
    heap->next += size;
  }
  const auto begin = reinterpret_cast<std::uintptr_t>(block) + sizeof(Header);
  auto* const result =
      reinterpret_cast<std::byte*>((begin + std::max(extra, unit) - 1) & ~(std::max(extra, unit) - 1));
  reinterpret_cast<Header*>(result)[-1] = {block, size_class};
  return result;
}

void give_back(void* memory) {
  const Header header = static_cast<Header*>(memory)[-1];
  const std::size_t size = bytes_of(header.size_class);
  if (size >= large) {
    const auto begin = reinterpret_cast<std::uintptr_t>(header.block);
    const std::uintptr_t first = (begin + sizeof(FreeBlock) + page - 1) / page * page;
    madvise(reinterpret_cast<void*>(first), (begin + size) / page * page - first, MADV_REMOVE);
  }
  auto* const block = reinterpret_cast<FreeBlock*>(header.block);
  block->next = heap->free[header.size_class];
  heap->free[header.size_class] = block;
}

}  // namespace

bool enable() {
  for (std::size_t bytes = most_reserved; bytes >= least_reserved; bytes /= 2) {
    void* const region =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (region == MAP_FAILED) continue;
    auto* const made = static_cast<Heap*>(region);
    made->next = static_cast<std::byte*>(region) + (sizeof(Heap) + unit - 1) / unit * unit;
    made->end = static_cast<std::byte*>(region) + bytes;
    heap = made;
    return true;
  }
  return false;
}

bool holds(const void* address) {
  return heap != nullptr && address >= static_cast<const void*>(heap) && address < heap->end;
}

namespace {

void* allocate(std::size_t bytes, std::size_t alignment) {
  for (;;) {
    void* memory = nullptr;
    if (heap != nullptr) [[unlikely]]
      memory = take(bytes, alignment);
    else if (alignment > unit)
      memory = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    else
      memory = std::malloc(std::max<std::size_t>(bytes, 1));
    if (memory != nullptr) return memory;
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) throw std::bad_alloc();
    handler();
  }
}

void release(void* memory) {
  if (holds(memory)) [[unlikely]]
    give_back(memory);
  else
    std::free(memory);
}

}  // namespace
}  // namespace hawser::shared_heap

void* operator new(std::size_t bytes) { return hawser::shared_heap::allocate(bytes, 1); }
void* operator new[](std::size_t bytes) { return hawser::shared_heap::allocate(bytes, 1); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return hawser::shared_heap::allocate(bytes, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return hawser::shared_heap::allocate(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { hawser::shared_heap::release(memory); }
void operator delete[](void* memory) noexcept { hawser::shared_heap::release(memory); }
void operator delete(void* memory, std::size_t) noexcept { hawser::shared_heap::release(memory); }
void operator delete[](void* memory, std::size_t) noexcept { hawser::shared_heap::release(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { hawser::shared_heap::release(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { hawser::shared_heap::release(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  hawser::shared_heap::release(memory);
}
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept {
  hawser::shared_heap::release(memory);
}
