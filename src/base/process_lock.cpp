#include "base/process_lock.h"

#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <utility>

namespace hawser {
namespace {

constexpr timespec longest_sleep{0, 1'000'000};

void sleep_while(std::atomic<std::uint32_t>& word, std::uint32_t value, const timespec& limit) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, &limit, nullptr, 0);
}

void wake_one(std::atomic<std::uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

}  // namespace

void ProcessLock::enable() {
  if (enabled()) return;
  state_.store(locked, std::memory_order_relaxed);
  slow_.fetch_or(among_threads, std::memory_order_relaxed);
  // The stand-in's rules are others from now on.
  left_.fetch_add(1, std::memory_order_release);
  wake_one(left_);
}

void ProcessLock::lock_slowly(const char* holder) {
  if (enabled()) {
    lock_among_threads();
    holder_.store(holder, std::memory_order_relaxed);
    return;
  }
  // The stand-in has the lock, or decides whether it may: it has seen this call then, or sees it.
  const std::lock_guard until_it_is_done(stand_in_);
}

void ProcessLock::unlock_slowly() {
  if (enabled()) {
    if (inner_ != nullptr) inner_->release();
    return unlock_among_threads();
  }
  // Takes the lock again, as a call of its own: the stand-in waits, or sees it and comes later.
  lock("the end of a call");
  {
    // Not while the stand-in decides: it relies on the program's seeing that it wants the lock.
    const std::lock_guard guard(stand_in_);
    slow_.fetch_and(not_wanted, std::memory_order_relaxed);
  }
  leaving_();
  left_.fetch_add(1, std::memory_order_release);
  if (awaits_left_.load(std::memory_order_relaxed)) wake_one(left_);
  unlock();
}

bool ProcessLock::admit_stand_in(std::function<void()> leaving) {
  leaving_ = std::move(leaving);
  dismissed_.store(false, std::memory_order_relaxed);
  return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
}

bool ProcessLock::try_stand_in() {
  if (enabled()) {
    std::uint32_t expected = unlocked;
    return state_.compare_exchange_strong(expected, locked, std::memory_order_acquire);
  }
  stand_in_.lock();
  left_before_ = left_.load(std::memory_order_relaxed);
  slow_.fetch_or(wanted_by_stand_in, std::memory_order_seq_cst);
  // Afterwards either the program's thread has seen that the lock is wanted, or its holder is seen here.
  syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
  if (holder_.load(std::memory_order_seq_cst) == nullptr) return true;
  stand_in_.unlock();
  return false;
}

void ProcessLock::end_stand_in() {
  if (enabled()) {
    if (inner_ != nullptr) inner_->release();
    return unlock_among_threads();
  }
  slow_.fetch_and(not_wanted, std::memory_order_release);
  stand_in_.unlock();
}

bool ProcessLock::try_lock(const char* holder) {
  std::uint32_t expected = unlocked;
  if (held() || !state_.compare_exchange_strong(expected, locked, std::memory_order_acquire)) return false;
  holder_.store(holder, std::memory_order_relaxed);
  return true;
}

void ProcessLock::wait_until_left() {
  awaits_left_.store(true, std::memory_order_seq_cst);
  // The program may have looked just before, hence the limit.
  constexpr timespec limit{1, 0};
  while (!enabled() && !dismissed_.load(std::memory_order_acquire) &&
         left_.load(std::memory_order_acquire) == left_before_)
    syscall(SYS_futex, &left_, FUTEX_WAIT_PRIVATE, left_before_, &limit, nullptr, 0);
  awaits_left_.store(false, std::memory_order_relaxed);
}

void ProcessLock::dismiss_stand_in() {
  dismissed_.store(true, std::memory_order_release);
  left_.fetch_add(1, std::memory_order_release);
  wake_one(left_);
}

void ProcessLock::lock_among_threads() {
  std::uint32_t expected = unlocked;
  if (!state_.compare_exchange_strong(expected, locked, std::memory_order_acquire)) wait_for_turn();
}

// No fence stands between the look at the state and the store: it would cost more than all the rest. A thread
// that goes to sleep just then may be overlooked, so nobody sleeps without a limit.
void ProcessLock::unlock_among_threads() {
  if (heir_.load(std::memory_order_relaxed) == waiting) [[unlikely]] {
    heir_.store(given, std::memory_order_release);
    wake_one(heir_);
    return;
  }
  const bool wanted = state_.load(std::memory_order_relaxed) == locked_and_wanted;
  state_.store(unlocked, std::memory_order_release);
  if (wanted) [[unlikely]]
    wake_one(state_);
}

// A holder that locks again before the thread that it woke is there wakes nobody at its next unlock().
void ProcessLock::wait_for_turn() {
  // A few looks, each after twice the time: who looks all the time gets the lock in between two calls of
  // another core's thread, with all that it protects, again and again.
  constexpr int looks = 9, patience = 8;
  wanting_.fetch_add(1, std::memory_order_relaxed);
  bool taken = false;
  for (int look = 0; look < looks && !taken; ++look) {
    std::uint32_t expected = unlocked;
    taken = !held() && state_.compare_exchange_strong(expected, locked, std::memory_order_acquire);
    for (int pauses = 0; pauses < 1 << look && !taken; ++pauses) __builtin_ia32_pause();
  }
  // Taken as wanted, too: others may sleep.
  for (int woken = 0; !taken; ++woken) {
    taken = state_.exchange(locked_and_wanted, std::memory_order_acquire) == unlocked;
    if (!taken && !(taken = woken >= patience && inherit()))
      sleep_while(state_, locked_and_wanted, longest_sleep);
  }
  wanting_.fetch_sub(1, std::memory_order_relaxed);
}

// Waits to be handed the lock; false if another thread does so already.
bool ProcessLock::inherit() {
  std::uint32_t expected = none;
  if (!heir_.compare_exchange_strong(expected, waiting, std::memory_order_relaxed)) return false;
  // The last holder may have looked for an heir just before, so the lock may be free.
  while (heir_.load(std::memory_order_acquire) != given) {
    expected = unlocked;
    if (state_.compare_exchange_strong(expected, locked, std::memory_order_acquire)) break;
    sleep_while(heir_, waiting, longest_sleep);
  }
  heir_.store(none, std::memory_order_relaxed);
  return true;
}

void ThreadEvent::wait() {
  std::uint32_t expected = not_set;
  if (!state_.compare_exchange_strong(expected, sleeping, std::memory_order_acquire)) return;
  while (state_.load(std::memory_order_acquire) == sleeping)
    syscall(SYS_futex, &state_, FUTEX_WAIT_PRIVATE, sleeping, nullptr, nullptr, 0);
}

void ThreadEvent::set() {
  if (state_.exchange(already_set, std::memory_order_release) == sleeping) wake_one(state_);
}

ThreadIdentity current_thread() {
  static thread_local const char mark = 0;
  return &mark;
}

}  // namespace hawser
