// ProcessLock: the one lock of an MPI process. Costs one test of a flag until several threads may call MPI.
// Not recursive.
//
// A thread that finds the lock free takes it, even if others wait. The waiting threads sleep, and if there
// are more threads than cores, a lock that is handed to a sleeping thread is used by nobody until that thread
// gets a core (with a ticket lock, 25 threads were 40 times slower). To be fair nevertheless, a thread that
// was woken several times without getting the lock is handed it by the next one that unlocks. A thread that
// holds the lock in a loop and finds others waiting calls give_way().
#pragma once

#include <atomic>
#include <cstdint>

namespace hawser {

class ProcessLock {
 public:
  // Called before a second thread may use the lock, by the thread that holds it or will unlock it next. From
  // then on it counts as locked by the caller.
  void enable() {
    if (enabled_) return;
    state_.store(held, std::memory_order_relaxed);
    enabled_ = true;
  }
  // In a forked child, which does not have the threads that held the lock or waited for it.
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
  // For a thread that holds the lock and would take it again at once: lets one of the sleepers have it in
  // between.
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
