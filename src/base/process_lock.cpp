#include "base/process_lock.h"

#include <sched.h>

namespace hawser {

// A ticket lock whose waiters sleep on the ticket now served. Threads may outnumber cores, so spinning is
// short.
void ProcessLock::lock_among_threads() {
  const std::uint32_t ticket = next_.fetch_add(1, std::memory_order_relaxed);
  constexpr int spins = 64;
  for (int i = 0;; ++i) {
    const std::uint32_t serving = serving_.load(std::memory_order_acquire);
    if (serving == ticket) return;
    if (i < spins) {
      __builtin_ia32_pause();
    } else if (i < 2 * spins) {
      sched_yield();
    } else {
      serving_.wait(serving, std::memory_order_acquire);
    }
  }
}

void ProcessLock::unlock_among_threads() {
  const std::uint32_t served = serving_.load(std::memory_order_relaxed);
  serving_.store(served + 1, std::memory_order_release);
  if (next_.load(std::memory_order_relaxed) != served + 1) serving_.notify_all();
}

ThreadIdentity current_thread() {
  static thread_local const char mark = 0;
  return &mark;
}

}  // namespace hawser
