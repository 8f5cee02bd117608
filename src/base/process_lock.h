// ProcessLock: the one lock of an MPI process. Costs one test of a flag until several threads may call MPI.
// Not recursive.
//
// Whoever comes when it is free takes it, even if others wait: they sleep, and on a machine with more threads
// than cores a lock that is handed to a thread that must first get a core is held by nobody until then (a
// ticket lock made 25 threads 40 times slower there than this one). So that nobody waits for ever, a thread
// that was woken several times in vain is handed the lock by the next who unlocks it. And who holds it in a
// loop and finds others waiting gives way.
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
    state_.store(held, std::memory_order_relaxed);
    enabled_ = true;
  }
  // In a child that was forked: the threads that held it or waited for it are not here.
  void forget() { enabled_ = false; }
  bool enabled() const { return enabled_; }

  void lock() {
    if (enabled_) [[unlikely]]
      lock_among_threads();
  }
  void unlock() {
    if (enabled_) [[unlikely]]
      unlock_among_threads();
  }
  // Whether other threads sleep until they get it.
  bool contended() const { return enabled_ && sleepers_.load(std::memory_order_relaxed) != 0; }
  // For who holds it and would take it again at once: one of those who sleep has it in between.
  void give_way();

 private:
  enum State : std::uint32_t { unlocked, held };
  enum Heir : std::uint32_t { none, waiting, given };  // given: the lock is the heir's

  void lock_among_threads();
  void unlock_among_threads();
  void wait_for_turn();
  bool inherit();

  bool enabled_ = false;
  std::atomic<std::uint32_t> state_{unlocked};
  std::atomic<std::uint32_t> heir_{none};
  std::atomic<std::uint32_t> sleepers_{0};    // threads that sleep until they get it, or are just waking
  std::atomic<std::uint32_t> turns_{0};       // of threads that slept and then got it
  std::atomic<std::uint32_t> giving_way_{0};  // threads that wait for the next turn
};

// One event that one thread sleeps until.
class ThreadEvent {
 public:
  void wait();  // until set
  void set();

 private:
  std::atomic<std::uint32_t> set_{0};
};

// Tells threads of this address space apart.
using ThreadIdentity = const void*;
ThreadIdentity current_thread();

}  // namespace hawser
