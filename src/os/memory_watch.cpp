#include "os/memory_watch.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>

#include "os/file_descriptor.h"

namespace hawser {
namespace {

constexpr std::uint64_t ring_slots = 1024;

// Where reports wait until take(): many writers, one reader. `turn` is the number of the report in the slot
// plus one once it is complete.
struct Slot {
  std::atomic<std::uint64_t> turn = 0;
  std::atomic<std::uintptr_t> address = 0;
  std::atomic<std::size_t> bytes = 0;
};

// Address spaces are one per process, and so is this; the calls that report have nobody to ask for it.
struct Reports {
  std::atomic<bool> taken = false;  // a watch exists
  // Only what overlaps this is reported.
  std::atomic<std::uintptr_t> low = UINTPTR_MAX;
  std::atomic<std::uintptr_t> high = 0;
  std::atomic<std::uint64_t> tail = 0;
  std::atomic<std::uint64_t> head = 0;
  std::atomic<bool> overflow = false;
  std::array<Slot, ring_slots> slots;
};
constinit Reports reports;

// The end of this thread's stack, and its start; 0: not asked yet.
thread_local std::uintptr_t stack_low = 0;
thread_local std::uintptr_t stack_high = 0;

void find_own_stack() {
  stack_low = stack_high = 1;
  if (gettid() == getpid()) return;  // the first thread's stack stays
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return;
  void* stack = nullptr;
  std::size_t bytes = 0;
  if (pthread_attr_getstack(&attributes, &stack, &bytes) == 0) {
    stack_low = reinterpret_cast<std::uintptr_t>(stack);
    stack_high = stack_low + bytes;
  }
  pthread_attr_destroy(&attributes);
}

// Heaps of other threads than the first are 64 MiB at most; the C library deletes one that is empty unless
// that would leave less than the padding free in it and in the one before.
constexpr int heap_padding = 130 * 1024 * 1024;

// Less free memory than this, or than a quarter of what is in use, stays where it is.
constexpr std::int64_t least_to_give_back = 32 * 1024 * 1024;
// Stays at the end of the first heap, for what is allocated next.
constexpr std::size_t kept_at_the_end = 4 * 1024 * 1024;

void keep_malloc_from_unmapping() {
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, -1);  // as an unsigned number: never
  mallopt(M_TOP_PAD, heap_padding);
}

// In bytes.
struct HeapState {
  std::int64_t free = 0;
  std::int64_t used = 0;
  std::int64_t resident = 0;  // of the whole process
};

HeapState look_at_heaps() {
  const struct mallinfo2 heaps = mallinfo2();
  HeapState state{static_cast<std::int64_t>(heaps.fordblks), static_cast<std::int64_t>(heaps.uordblks), 0};
  // "size resident ..." in pages, without the C++ library, which would allocate.
  char text[128];
  const FileDescriptor file(open("/proc/self/statm", O_RDONLY | O_CLOEXEC));
  const ssize_t length = read(file.get(), text, sizeof(text) - 1);
  if (length <= 0) return state;
  text[length] = 0;
  if (const char* resident = std::strchr(text, ' '))
    state.resident = std::strtoll(resident, nullptr, 10) * sysconf(_SC_PAGESIZE);
  return state;
}

class OwnMemoryWatch final : public MemoryWatch {
 public:
  OwnMemoryWatch() : first_(!reports.taken.exchange(true)) {
    if (!first_) return;
    reports.head.store(reports.tail.load());
    reports.overflow.store(false);
    reliable_ = sees_the_program();
    if (reliable_) keep_malloc_from_unmapping();
    base_ = look_at_heaps();
  }
  ~OwnMemoryWatch() override {
    if (!first_) return;
    watch_nothing();
    reports.taken.store(false);
  }

  bool reliable() const override { return reliable_; }
  bool may_keep(const void* address) const override {
    if (!reliable_) return false;
    if (stack_high == 0) find_own_stack();
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    return at < stack_low || at >= stack_high;
  }

  void watch(const MemoryRange& range) override {
    // One writer: only the holder of the process's lock registers memory.
    if (range.address < reports.low.load(std::memory_order_relaxed)) reports.low.store(range.address);
    const std::uintptr_t end = range.address + range.bytes;
    if (end > reports.high.load(std::memory_order_relaxed)) reports.high.store(end);
  }

  std::size_t take(std::span<MemoryRange> into) override {
    std::uint64_t head = reports.head.load(std::memory_order_relaxed);
    if (head == reports.tail.load(std::memory_order_acquire)) return 0;
    std::size_t count = 0;
    while (count < into.size() && head != reports.tail.load(std::memory_order_acquire)) {
      if (reports.overflow.exchange(false)) {
        into[count++] = all_memory;
        continue;
      }
      const Slot& slot = reports.slots[head % ring_slots];
      if (slot.turn.load(std::memory_order_acquire) != head + 1) {
        // Somebody is stopped between taking the slot and filling it; reports behind it may be complete and
        // urgent. Waiting could be for ever, so all is taken for gone, now and until it has been filled.
        into[count++] = all_memory;
        break;
      }
      into[count++] = {slot.address.load(std::memory_order_relaxed),
                       slot.bytes.load(std::memory_order_relaxed)};
      reports.head.store(++head, std::memory_order_release);
    }
    return count;
  }

  void give_back_free_memory(Nanoseconds now) override {
    // A look takes the time of a pass over all free blocks, so it is made seldom if that is long.
    constexpr Nanoseconds pause = 1 * second;
    constexpr Nanoseconds share_of_time = 100;
    if (!reliable_ || now < next_look_) return;
    MonotonicClock clock;
    const Nanoseconds begin = clock.now();
    const HeapState heaps = look_at_heaps();
    // Pages that were given back still count as free until they are used again, so what has pages is told
    // from how much more of the process is resident than after the last time, beyond what is in use more.
    const std::int64_t resident_free = (heaps.resident - base_.resident) - (heaps.used - base_.used);
    const std::int64_t unused = std::min({heaps.free, free_before_, resident_free});
    free_before_ = heaps.free;
    if (unused >= least_to_give_back && unused >= heaps.used / 4) {
      report_memory_change(all_memory.address, all_memory.bytes);
      malloc_trim(kept_at_the_end);
      base_ = look_at_heaps();
      free_before_ = base_.free;
    }
    next_look_ = now + std::max(pause, share_of_time * (clock.now() - begin));
  }

 private:
  static void watch_nothing() {
    reports.low.store(UINTPTR_MAX);
    reports.high.store(0);
  }
  // Whether the program's own munmap is the one that reports: tried out, on a page of its own.
  bool sees_the_program() {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    void* program = dlopen(nullptr, RTLD_LAZY | RTLD_NOLOAD);
    if (program == nullptr) return false;
    using Unmap = int (*)(void*, std::size_t);
    const auto unmap = reinterpret_cast<Unmap>(dlsym(program, "munmap"));
    dlclose(program);
    void* memory = mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (unmap == nullptr || memory == MAP_FAILED) return false;
    watch({reinterpret_cast<std::uintptr_t>(memory), page});
    const bool unmapped = unmap(memory, page) == 0;
    bool seen = false;
    MemoryRange range[8];
    for (std::size_t count = take(range); count > 0; count = take(range))
      for (std::size_t i = 0; i < count; ++i)
        seen = seen || range[i].address == reinterpret_cast<std::uintptr_t>(memory);
    watch_nothing();
    return unmapped && seen;
  }

  bool first_;
  bool reliable_ = false;
  Nanoseconds next_look_ = 0;
  std::int64_t free_before_ = 0;  // at the last look
  HeapState base_;                // when memory was given back last, or the watch began
};

}  // namespace

void keep_nothing_of_this_thread() {
  stack_low = 0;
  stack_high = UINTPTR_MAX;
}

std::unique_ptr<MemoryWatch> watch_own_memory() { return std::make_unique<OwnMemoryWatch>(); }

void report_memory_change(std::uintptr_t address, std::size_t bytes) {
  if (bytes == 0 || address >= reports.high.load(std::memory_order_acquire)) return;
  const std::uintptr_t end = bytes > UINTPTR_MAX - address ? UINTPTR_MAX : address + bytes;
  if (end <= reports.low.load(std::memory_order_acquire)) return;
  std::uint64_t turn = reports.tail.load(std::memory_order_relaxed);
  do {
    if (turn - reports.head.load(std::memory_order_acquire) >= ring_slots) {
      reports.overflow.store(true);
      return;
    }
  } while (!reports.tail.compare_exchange_weak(turn, turn + 1, std::memory_order_acq_rel));
  Slot& slot = reports.slots[turn % ring_slots];
  slot.address.store(address, std::memory_order_relaxed);
  slot.bytes.store(bytes, std::memory_order_relaxed);
  slot.turn.store(turn + 1, std::memory_order_release);
}

}  // namespace hawser
