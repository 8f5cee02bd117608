// WaitingThreads: the threads of a program that wait (MPI_THREAD_MULTIPLE). Whichever has a core and finds
// the lock free polls, for all. Who finds nothing yields its core; who has yielded often sleeps until its
// request is complete. One stays awake, because nobody else would poll.
//
// To be woken takes longer than most messages: where two threads share a core and sleep at once, a message
// takes 15 us in place of 0.3. With more threads than cores that all poll without end, they take the core
// from the one that could bring something.
//
// Where two processes with a core each exchange messages in several pairs of threads, both ends of a pair
// should have their cores at the same time. If they do not, each waits for a thread that has no core; and if
// both yield after the same time, the next two threads are not a pair either, without end. So a process polls
// for a short or a long time before it yields, and changes that by chance as long as its waits end in vain.
//
// Everything here is used under the process's lock, except where said.
#pragma once

#include <cstdint>
#include <utility>

#include "base/function_ref.h"
#include "base/intrusive_list.h"
#include "base/process_lock.h"
#include "base/random.h"
#include "base/rest.h"

namespace hawser {

// One of them, for one wait.
struct WaitingThread {
  WaitingThread(FunctionRef<bool()> is_done, bool others_ask) : done(is_done), others_may_ask(others_ask) {}
  bool fresh() const { return yields == 0; }
  bool tired() const { return yields >= most_yields; }
  void note_movement() { yields = naps = 0; }

  static constexpr std::uint32_t most_yields = 256;
  ListLink link;
  const FunctionRef<bool()> done;
  const bool others_may_ask;  // whether other threads, which have the lock, may call done()
  ThreadEvent event;          // done() was true, or a sleeping thread is to poll
  std::uint32_t yields = 0;   // since it saw anything move
  std::uint32_t naps = 0;     // after these
  bool asleep = false;
  bool listed = false;
};

class WaitingThreads {
 public:
  // Before any wait of several threads. Neighbours have other ranks.
  void open(int rank) {
    random_ = Random(static_cast<std::uint64_t>(rank));
    patient_ = rank % 2 != 0;
  }

  // Around a wait.
  void enter() { ++awake_; }
  void leave() {
    if (--awake_ == 0 && !threads_.empty()) wake(*threads_.front());
  }
  // How often to find nothing before others have the core.
  std::uint32_t passes_before_rest(const WaitingThread& thread) const {
    if (!thread.fresh()) return passes_of_tired;
    return awake_ > 1 && patient_ ? passes_of_patient : rest_that_yields;
  }
  // What a thread polled for has come; or it has not, and others have the core now.
  void note_found() { in_vain_ = 0; }
  void note_in_vain(const WaitingThread& thread);
  // Around the time without the lock, in which others may complete its request.
  void list(WaitingThread& thread) {
    if (!thread.others_may_ask) return;
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
  static constexpr std::uint32_t passes_of_patient = 4 * rest_that_yields, passes_of_tired = 8;
  static constexpr int most_waits = 128;
  Random random_{0};
  bool patient_ = false;
  int in_vain_ = 0;  // times in a row
  int awake_ = 0;
  int waits_since_ = 0;
  bool woke_ = false;
};

}  // namespace hawser
