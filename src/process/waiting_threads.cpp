#include "process/waiting_threads.h"

#include "base/rest.h"

namespace hawser {

// With several threads each has to have been tried. A wait that ends in vain now and then, because it is
// another thread's turn at the other end, changes nothing.
void WaitingThreads::note_in_vain(const WaitingThread& thread) {
  if (!thread.fresh() || ++in_vain_ < awake_) return;
  in_vain_ = 0;
  patient_ = random_.below(2) == 0;
}

bool WaitingThreads::sleep(WaitingThread& thread, ProcessLock& lock) {
  if (awake_ <= 1) return false;
  --awake_;
  thread.asleep = true;
  const char* const holder = lock.holder();
  lock.unlock();
  thread.event.wait();
  lock.lock(holder);
  thread.event.reset();
  thread.yields = 0;
  return true;
}

void WaitingThreads::yield(WaitingThread& thread, const ProcessLock& lock) {
  do {
    rest(rest_that_yields);
    ++thread.yields;
  } while (!thread.tired() && !thread.event.is_set() && lock.held());
}

void WaitingThreads::wake_finished() {
  for (WaitingThread* thread = threads_.front(); thread != nullptr;) {
    WaitingThread* const next = threads_.next(thread);
    if (thread->done()) {
      threads_.remove(thread);
      thread->listed = false;
      wake(*thread);
      woke_ = true;
    }
    thread = next;
  }
}

void WaitingThreads::wake(WaitingThread& thread) {
  if (std::exchange(thread.asleep, false)) ++awake_;
  thread.event.set();
}

}  // namespace hawser
