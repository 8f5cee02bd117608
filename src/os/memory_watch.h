// MemoryWatch: reports memory of the process that was unmapped, so that no registration of it is kept.
// Otherwise the adapter would use the old pages while the program has new ones at the same address.
//
// In a real process the MPI libraries export munmap, mremap, mmap, madvise, brk, sbrk, shmdt, shmat, dlclose
// and malloc_trim in front of the C library's (access/interpose), and malloc is told to give nothing back by
// itself (it calls the kernel without going through those symbols): no chunks of mmap, no trimming, no
// deletion of a thread's heap. So that what the program frees does not stay with it for good, the watch
// itself trims the heaps when much of them has been free for a while, and reports that like any other change.
//
// Not covered, since the C library unmaps them by itself: stacks of threads (memory on the calling thread's
// stack is therefore not kept, see may_keep); chunks that malloc had taken from mmap before the watch began,
// freed later, if the C library itself puts a new mapping there (another thread's heap, a library's data; a
// mapping made by the program itself is seen). A program that loads the MPI library so that its symbols are
// not before the C library's (RTLD_LOCAL) is noticed: the watch is then not reliable and nothing is kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/time.h"

namespace hawser {

struct MemoryRange {
  std::uintptr_t address = 0;
  std::size_t bytes = 0;
};
inline constexpr MemoryRange all_memory{0, SIZE_MAX};

class MemoryWatch {
 public:
  virtual ~MemoryWatch() = default;
  // False: memory may be unmapped unnoticed, so no registration may be kept.
  virtual bool reliable() const = 0;
  // Whether a registration of this memory may be kept beyond its use; asked on the thread that uses it.
  virtual bool may_keep(const void* address) const = 0;
  // Starts to watch this range.
  virtual void watch(const MemoryRange& range) = 0;
  // Stores the ranges that were unmapped since the last call in `into` and returns their number. Call again
  // while `into` is full. Once a mapping call has returned to the program, the next call here reports its
  // range, on any thread.
  virtual std::size_t take(std::span<MemoryRange> into) = 0;
  // Call this often. Returns free pages of the program's heaps to the system if there are many and they have
  // been free for a second or more.
  virtual void give_back_free_memory(Nanoseconds) {}
};

// The watch of a real process; one at a time, later ones are not reliable.
std::unique_ptr<MemoryWatch> watch_own_memory();

// Nothing that the calling thread asks for is kept any more: it works for other threads, and memory on their
// stacks goes away unnoticed when they end.
void keep_nothing_of_this_thread();

// What the calls in access/interpose report, before memory goes away and after it came. Callable from any
// thread, from within an allocator and from signal handlers: no lock, no allocation, errno untouched.
void report_memory_change(std::uintptr_t address, std::size_t bytes);

}  // namespace hawser
