// ParkedThreads: the threads that wait for requests while another one makes progress. With many threads and
// few cores all that poll in turn take the core from the one that could bring something, so one polls and the
// others sleep until their request is complete, or until they are to poll.
//
// Everything here is done under the process's lock, but for the sleep itself.
#pragma once

#include <utility>

#include "base/intrusive_list.h"
#include "base/process_lock.h"
#include "message/request.h"

namespace hawser {

class ParkedThreads {
 public:
  // Some thread polls; others park.
  bool polled() const { return polled_; }
  void begin_polling() { polled_ = true; }
  // The polling thread has what it wanted: the one that has waited longest polls from now on.
  void end_polling() {
    polled_ = false;
    appoint();
  }
  // Sleeps until the request is complete (true), or until this thread is to poll. `lock` is free meanwhile.
  bool park(Request& request, ProcessLock& lock) {
    Parked parked(request);
    threads_.push_back(&parked);
    const char* const holder = lock.holder();
    lock.unlock();
    parked.event.wait();
    lock.lock(holder);
    if (!request.complete) return false;
    // It may have been appointed and become complete before it could poll.
    if (!polled_) appoint();
    return true;
  }
  // After anything that may have completed requests.
  void wake_finished() {
    for (Parked* parked = threads_.front(); parked != nullptr;) {
      Parked* const next = threads_.next(parked);
      if (parked->request.complete) {
        wake(*parked);
        woke_ = true;
      }
      parked = next;
    }
  }
  // Whether a thread was woken since this was asked last: it wants the lock next.
  bool take_woke() { return std::exchange(woke_, false); }
  bool empty() const { return threads_.empty(); }

 private:
  struct Parked {
    explicit Parked(Request& waited_for) : request(waited_for) {}
    ListLink link;
    Request& request;
    ThreadEvent event;
  };

  void appoint() {
    if (!threads_.empty()) wake(*threads_.front());
  }
  void wake(Parked& parked) {
    threads_.remove(&parked);
    parked.event.set();
  }

  IntrusiveList<Parked, &Parked::link> threads_;
  bool polled_ = false;
  bool woke_ = false;
};

}  // namespace hawser
