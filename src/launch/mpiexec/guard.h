// The guard: a small process that leads the process group of all ranks and outlives mpiexec by a moment.
// However mpiexec ends, kill -9 included, the guard sees its pipe close and kills the group: the ranks, and
// what they started. As its leader lives as long as anyone signals the group, the group's number cannot come
// to mean another one.
#pragma once

#include <sys/types.h>

#include "base/result.h"

namespace hawser {

class Guard {
 public:
  // Call while this process has no threads.
  static Result<Guard> start();
  Guard(Guard&& other) noexcept;
  Guard& operator=(Guard&&) = delete;
  ~Guard();  // dismisses

  pid_t group() const { return pid_; }
  // Sends a signal to everyone in the group but the guard; SIGKILL takes the guard along.
  void signal(int number) const;
  // Kills whoever is left in the group, and waits for the guard's end.
  void dismiss();
  // Someone killed the guard, and it was waited for: the group's number is no longer ours.
  void forget() { pid_ = -1; }

 private:
  Guard(pid_t pid, int lifeline) : pid_(pid), lifeline_(lifeline) {}

  pid_t pid_;
  int lifeline_;  // the end of the pipe whose closing the guard waits for
};

}  // namespace hawser
