#include "process/waiting_threads.h"

#include "base/rest.h"

namespace hawser {

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
    if (thread->request.complete) {
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
