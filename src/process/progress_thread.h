// ProgressThread: the library's thread that goes on with what others wait for while the program computes: it
// sleeps on the descriptors of the network's channels, takes the lock as a stand-in (base/process_lock.h),
// and makes progress. A program that is in a call of MPI looks itself; then the thread stays away until that
// call is over and some time more, and for longer the oftener this happens, so that a program that
// communicates without pause is interrupted 125 times a second at most.
#pragma once

#include <memory>
#include <span>

#include "base/time.h"
#include "channel/transport.h"
#include "os/ready_set.h"
#include "os/service_thread.h"
#include "process/stand_in.h"

namespace hawser {

class MpiProcess;

class ProgressThread final : private DeadlineAlarm {
 public:
  // Begins at once; the program's thread is in a call of MPI and holds the lock. What is given must outlive
  // the thread. Null: nobody can sleep on these channels, or the system cannot do it.
  static std::unique_ptr<ProgressThread> start(MpiProcess& process, StandIn& state,
                                               std::span<Transport* const> channels, Clock& clock);
  // The program's thread holds the lock.
  ~ProgressThread();
  ProgressThread(const ProgressThread&) = delete;
  ProgressThread& operator=(const ProgressThread&) = delete;

  // In a forked child, which has no such thread.
  void forget() { thread_->forget(); }

 private:
  void ring() override;
  ProgressThread(MpiProcess& process, StandIn& state, Clock& clock)
      : process_(process), state_(state), clock_(clock) {}
  void run(ServiceThread& thread);

  MpiProcess& process_;
  StandIn& state_;
  Clock& clock_;
  ReadySet ready_;
  std::unique_ptr<ServiceThread> thread_;  // last: it uses the others
};

}  // namespace hawser
