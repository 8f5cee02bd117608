// ProcessLock: the one lock of an MPI process. Costs one test of a flag until several threads may call MPI.
// Not recursive.
//
// A thread that finds the lock free takes it, even if others wait. The waiting threads sleep, and if there
// are more threads than cores, a lock that is handed to a sleeping thread is used by nobody until that thread
// gets a core (with a ticket lock, 25 threads were 40 times slower). To be fair nevertheless, a thread that
// was woken several times without getting the lock is handed it by the next one that unlocks. A thread that
// holds the lock in a loop and finds others waiting unlocks and yields its core.
//
// A stand-in is a thread of the library that does what others wait for while the program computes. The
// program's threads pay one store for it, at unlock(): the stand-in says that it wants the lock, has a
// barrier executed on the cores of all threads of the process (membarrier), and then sees whether the program
// is in a call of MPI. If so, it leaves the work to that call. Else it holds the lock, and a call that begins
// waits.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>

namespace hawser {

// Locks that a thread takes while it holds the process's, and that go with it: whenever that is free, they
// are.
class InnerLocks {
 public:
  // Frees those that are held; answers which.
  virtual std::uint32_t release() = 0;
  virtual void take(std::uint32_t which) = 0;

 protected:
  ~InnerLocks() = default;
};

class ProcessLock {
 public:
  // Set while several threads may call MPI; null: there are none.
  void set_inner(InnerLocks* inner) { inner_ = inner; }
  InnerLocks* inner() const { return inner_; }
  // Called before a second thread may use the lock, by the thread that holds it or will unlock it next. From
  // then on it counts as locked by the caller.
  void enable();
  // In a forked child, which does not have the threads that held the lock or waited for it.
  void forget() { slow_.store(0, std::memory_order_relaxed); }
  bool enabled() const { return (slow_.load(std::memory_order_relaxed) & among_threads) != 0; }

  // `holder` names the function of MPI that takes the lock.
  void lock(const char* holder) {
    holder_.store(holder, entry_order);
    if (slow()) [[unlikely]]
      lock_slowly(holder);
  }
  void unlock() {
    holder_.store(nullptr, exit_order);
    if (slow()) [[unlikely]]
      unlock_slowly();
  }
  // Who took the lock last, while it is held; else null, if only one thread may call MPI.
  const char* holder() const { return holder_.load(std::memory_order_relaxed); }
  // Without the lock, a hint: whether a thread has it.
  bool held() const { return state_.load(std::memory_order_relaxed) != unlocked; }
  // For a thread that does not have it: false if it is not to be had at once. Among threads only.
  bool try_lock(const char* holder);
  // Whether other threads want it at this moment.
  bool contended() const { return enabled() && wanting_.load(std::memory_order_relaxed) != 0; }

  // --- For the stand-in, one thread ---

  // Call before the others, by the thread that holds the lock. `leaving` is called with the lock held at the
  // end of a call that the stand-in found the program in. False: this system has no such barrier.
  bool admit_stand_in(std::function<void()> leaving);
  // Takes the lock if no thread of the program is in a call of MPI. False: one is, or is just coming.
  bool try_stand_in();
  void end_stand_in();
  // After try_stand_in() failed: sleeps until that call of MPI ends, or dismiss_stand_in() was called.
  // Returns at once where several threads may call MPI.
  void wait_until_left();
  // Ends wait_until_left() now and later; by another thread.
  void dismiss_stand_in();

 private:
  enum State : std::uint32_t { unlocked, locked, locked_and_wanted };
  enum Heir : std::uint32_t { none, waiting, given };  // given: the lock is the heir's
  // Why a call does not only set holder_.
  enum Slow : std::uint8_t { among_threads = 1, wanted_by_stand_in = 2, not_wanted = 0xff ^ 2 };
  // The thread sanitizer does not know of membarrier.
#if defined(__SANITIZE_THREAD__) || !defined(__x86_64__)
  static constexpr std::memory_order entry_order = std::memory_order_seq_cst;
  static constexpr std::memory_order exit_order = std::memory_order_seq_cst;
  bool slow() const { return slow_.load(std::memory_order_seq_cst) != 0; }
#else
  static constexpr std::memory_order entry_order = std::memory_order_relaxed;
  static constexpr std::memory_order exit_order = std::memory_order_release;
  // slow_ != 0, as one instruction: every call of MPI has it twice. Nothing moves across it at compile time,
  // and no load before it at run time.
  bool slow() const {
    bool set;
    asm volatile("cmpb $0, %1" : "=@ccne"(set) : "m"(slow_) : "memory");
    return set;
  }
#endif

  [[gnu::cold]] void lock_slowly(const char* holder);
  [[gnu::cold]] void unlock_slowly();
  void lock_among_threads();
  void unlock_among_threads();
  void wait_for_turn();
  bool inherit();

  std::atomic<const char*> holder_{nullptr};
  std::atomic<std::uint8_t> slow_{0};
  std::mutex stand_in_;                 // while it decides or works
  std::atomic<std::uint32_t> left_{0};  // calls that ended while the stand-in wanted the lock
  std::uint32_t left_before_ = 0;       // the stand-in's: left_ before it tried
  std::atomic<bool> dismissed_{false};
  std::atomic<bool> awaits_left_{false};  // the stand-in sleeps until left_ changes
  std::function<void()> leaving_;
  InnerLocks* inner_ = nullptr;
  std::atomic<std::uint32_t> state_{unlocked};
  std::atomic<std::uint32_t> heir_{none};
  std::atomic<std::uint32_t> wanting_{0};  // threads that wait until they get it
};

// One event that one thread sleeps until.
class ThreadEvent {
 public:
  void wait();  // until set
  void set();
  void reset() { state_.store(not_set, std::memory_order_relaxed); }  // by who waits, while nobody sets it
  bool is_set() const { return state_.load(std::memory_order_acquire) == already_set; }

 private:
  enum State : std::uint32_t { not_set, already_set, sleeping };
  std::atomic<std::uint32_t> state_{not_set};
};

// Tells threads of this address space apart.
using ThreadIdentity = const void*;
ThreadIdentity current_thread();

}  // namespace hawser
