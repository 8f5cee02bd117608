// The calls by which a program's memory goes away, in front of the C library's: each reports what it takes
// away (access/memory_watch.h) and then does its work. Linked into the MPI libraries and nowhere else; not
// part of the room's library, where every program that calls munmap would pull it in.
//
// They may be called before any constructor has run, and from within an allocator: so the kernel is called
// directly where that is all that the C library does. brk, sbrk, dlclose and malloc_trim have state in the C
// library and go on to it.
#include <dlfcn.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdint>

#include "os/memory_watch.h"

#define HAWSER_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

std::uintptr_t number(const void* address) { return reinterpret_cast<std::uintptr_t>(address); }

void report_all() { hawser::report_memory_change(hawser::all_memory.address, hawser::all_memory.bytes); }

void report_new(const void* address, std::size_t bytes) {
  // What was there before went away unseen, or is replaced (MAP_FIXED).
  if (address != MAP_FAILED) hawser::report_memory_change(number(address), bytes);
}

// The C library's function of this name.
template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

}  // namespace

HAWSER_EXPORT int munmap(void* address, std::size_t bytes) noexcept {
  hawser::report_memory_change(number(address), bytes);
  return static_cast<int>(syscall(SYS_munmap, address, bytes));
}

HAWSER_EXPORT void* mmap(void* address, std::size_t bytes, int protection, int flags, int fd,
                         off_t offset) noexcept {
  static_assert(sizeof(off_t) == 8 && sizeof(long) == 8, "the system call takes bytes, not pages");
  if ((flags & MAP_FIXED) != 0) hawser::report_memory_change(number(address), bytes);
  void* made = reinterpret_cast<void*>(syscall(SYS_mmap, address, bytes, protection, flags, fd, offset));
  report_new(made, bytes);
  return made;
}

HAWSER_EXPORT void* mmap64(void* address, std::size_t bytes, int protection, int flags, int fd,
                           off_t offset) noexcept {
  return mmap(address, bytes, protection, flags, fd, offset);
}

HAWSER_EXPORT void* mremap(void* address, std::size_t old_bytes, std::size_t bytes, int flags, ...) noexcept {
  va_list more;
  va_start(more, flags);
  void* target = (flags & MREMAP_FIXED) != 0 ? va_arg(more, void*) : nullptr;
  va_end(more);
  hawser::report_memory_change(number(address), old_bytes);
  if (target != nullptr) hawser::report_memory_change(number(target), bytes);
  void* made = reinterpret_cast<void*>(syscall(SYS_mremap, address, old_bytes, bytes, flags, target));
  report_new(made, bytes);
  return made;
}

HAWSER_EXPORT int madvise(void* address, std::size_t bytes, int advice) noexcept {
  switch (advice) {
    case MADV_DONTNEED:
    case MADV_REMOVE:
    case MADV_FREE:
      hawser::report_memory_change(number(address), bytes);
      break;
    default:  // a number of the kernel's, not an enumeration of ours: the others leave pages where they are
      break;
  }
  return static_cast<int>(syscall(SYS_madvise, address, bytes, advice));
}

HAWSER_EXPORT int brk(void* end) noexcept {
  report_all();
  const auto original = next<int (*)(void*)>("brk");
  return original(end);
}

HAWSER_EXPORT void* sbrk(std::intptr_t change) noexcept {
  if (change < 0) report_all();
  const auto original = next<void* (*)(std::intptr_t)>("sbrk");
  return original(change);
}

HAWSER_EXPORT void* shmat(int id, const void* address, int flags) noexcept {
  if ((flags & SHM_REMAP) != 0) report_all();
  void* made = reinterpret_cast<void*>(syscall(SYS_shmat, id, address, flags));
  const int error = errno;
  shmid_ds facts;
  if (made != reinterpret_cast<void*>(-1)) {
    if (syscall(SYS_shmctl, id, IPC_STAT, &facts) == 0)
      hawser::report_memory_change(number(made), facts.shm_segsz);
    else
      report_all();  // not readable: its length is not known
  }
  errno = error;
  return made;
}

HAWSER_EXPORT int shmdt(const void* address) noexcept {
  report_all();  // its length is not known
  return static_cast<int>(syscall(SYS_shmdt, address));
}

HAWSER_EXPORT int dlclose(void* handle) noexcept {
  report_all();
  const auto original = next<int (*)(void*)>("dlclose");
  return original(handle);
}

HAWSER_EXPORT int malloc_trim(std::size_t padding) noexcept {
  report_all();
  const auto original = next<int (*)(std::size_t)>("malloc_trim");
  return original(padding);
}
