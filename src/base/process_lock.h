// ProcessLock: the one lock of an MPI process. Costs one test of a flag until several threads may call MPI.
// Not recursive. Handed over in the order of asking, so that a thread that waits for a message in a loop
// of lock and unlock cannot keep others out.
#pragma once

#include <atomic>
#include <cstdint>

namespace hawser {

class ProcessLock {
 public:
  // Called before a second thread may come, by who holds it or will unlock it next: from here on it counts as
  // locked by the caller.
  void enable() {
    if (enabled_) return;
    next_.store(serving_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    enabled_ = true;
  }
  bool enabled() const { return enabled_; }

  void lock() {
    if (enabled_) [[unlikely]]
      lock_among_threads();
  }
  void unlock() {
    if (enabled_) [[unlikely]]
      unlock_among_threads();
  }
  // Whether other threads ask for it now.
  bool contended() const {
    return enabled_ && next_.load(std::memory_order_relaxed) - serving_.load(std::memory_order_relaxed) > 1;
  }

 private:
  void lock_among_threads();
  void unlock_among_threads();

  bool enabled_ = false;
  std::atomic<std::uint32_t> next_{0};
  std::atomic<std::uint32_t> serving_{0};
};

// Tells threads of this address space apart.
using ThreadIdentity = const void*;
ThreadIdentity current_thread();

}  // namespace hawser
