// LazyArena: zeroed blocks of memory that cost nothing where nobody writes. The queues of a simulated adapter
// are sized for the worst case, and most of their slots are never used: from the heap they would be cleared,
// and so cost all of their size.
#pragma once

#include <cstddef>
#include <unordered_map>
#include <vector>

namespace hawser {

class LazyArena {
 public:
  // `shared`: with processes that are made later. Only one of them may use it at a time.
  explicit LazyArena(bool shared);
  LazyArena(const LazyArena&) = delete;
  LazyArena& operator=(const LazyArena&) = delete;
  ~LazyArena();

  // Aligned to a cache line. Throws std::bad_alloc.
  std::byte* take(std::size_t bytes);
  void give_back(std::byte* block, std::size_t bytes);

 private:
  // One reserved range of addresses, so that the kernel sees one mapping however many blocks there are.
  const bool shared_;
  std::byte* region_ = nullptr;
  std::size_t reserved_ = 0;
  std::size_t used_ = 0;
  std::unordered_map<std::size_t, std::vector<std::byte*>> free_;  // by size; cleared
};

}  // namespace hawser
