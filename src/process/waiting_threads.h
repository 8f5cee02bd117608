// WaitingThreads: the threads of a program that wait for requests (MPI_THREAD_MULTIPLE). Whichever has a core
// and finds the lock free polls, for all. Who finds nothing yields its core; who has yielded often sleeps
// until its request is complete. One stays awake, because nobody else would poll.
//
// To be woken takes longer than most messages: where two threads share a core and sleep at once, a message
// takes 15 us in place of 0.3. With more threads than cores that all poll without end, they take the core
// from the one that could bring something.
//
// Everything here is used under the process's lock, except where said.
#pragma once

#include <cstdint>
#include <utility>

#include "base/intrusive_list.h"
#include "base/process_lock.h"
#include "base/rest.h"
#include "message/request.h"

namespace hawser {

// One of them, for one wait.
struct WaitingThread {
  explicit WaitingThread(Request& waited_for) : request(waited_for) {}
  bool tired() const { return yields >= most_yields; }

  static constexpr std::uint32_t most_yields = 256;
  ListLink link;
  Request& request;
  ThreadEvent event;         // the request is complete, or a sleeping thread is to poll
  std::uint32_t yields = 0;  // since it saw anything move
  std::uint32_t naps = 0;    // after these
  bool asleep = false;
  bool listed = false;
};

class WaitingThreads {
 public:
  // Around a wait, also for something other than a request.
  void enter() { ++awake_; }
  void leave() {
    if (--awake_ == 0 && !threads_.empty()) wake(*threads_.front());
  }
  // How often to find nothing before others have the core.
  std::uint32_t passes_before_rest() const { return awake_ > 1 ? passes_of_several : rest_that_yields; }
  // Around the time without the lock, in which others may complete its request.
  void list(WaitingThread& thread) {
    threads_.push_back(&thread);
    thread.listed = true;
  }
  void unlist(WaitingThread& thread) {
    if (std::exchange(thread.listed, false)) threads_.remove(&thread);
  }
  // False: nobody else is awake. Else sleeps, without the lock, until its request is complete or nobody else
  // polls.
  bool sleep(WaitingThread& thread, ProcessLock& lock);
  // Without the lock: yields the core until the request is complete, or the lock seems free.
  static void yield(WaitingThread& thread, const ProcessLock& lock);
  // After anything that may have completed requests.
  void wake_finished();
  // At the beginning of a wait: whether a thread whose request was found complete has waited for the core
  // while many other waits began. To give it the core for each message would cost a switch for each; see
  // doc/process.md.
  bool owes_turn() { return woke_ && ++waits_since_ >= most_waits; }
  void note_turn() {
    woke_ = false;
    waits_since_ = 0;
  }
  bool empty() const { return threads_.empty(); }

 private:
  void wake(WaitingThread& thread);

  IntrusiveList<WaitingThread, &WaitingThread::link> threads_;
  static constexpr std::uint32_t passes_of_several = 32;
  static constexpr int most_waits = 128;
  int awake_ = 0;
  int waits_since_ = 0;
  bool woke_ = false;
};

}  // namespace hawser
