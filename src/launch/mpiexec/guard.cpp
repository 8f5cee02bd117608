#include "launch/mpiexec/guard.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "base/failure.h"
#include "os/child_process.h"

namespace hawser {

namespace {

// The guard's whole life.
[[noreturn]] void stand_guard(int lifeline) {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);  // signals for the group must not end it
  if (setpgid(0, 0) != 0) _exit(1);
  prctl(PR_SET_NAME, "mpiexec-guard");
  dup2(lifeline, 0);
  close_range(1, ~0U, 0);  // holds nobody's pipe open, the lifeline's other end included
  char byte;
  while (read(0, &byte, 1) < 0 && errno == EINTR) {
  }
  kill(0, SIGKILL);
  _exit(0);
}

}  // namespace

Result<Guard> Guard::start() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return failure(ErrorKind::other, "cannot make a pipe: {}", std::strerror(errno));
  const pid_t pid = fork();
  if (pid == 0) stand_guard(ends[0]);
  close(ends[0]);
  if (pid < 0) {
    close(ends[1]);
    return failure(ErrorKind::other, "cannot fork: {}", std::strerror(errno));
  }
  setpgid(pid, pid);  // here too, so that ranks can join the group before the guard gets to run
  return Guard(pid, ends[1]);
}

Guard::Guard(Guard&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), lifeline_(std::exchange(other.lifeline_, -1)) {}

Guard::~Guard() { dismiss(); }

void Guard::signal(int number) const {
  if (pid_ > 0) kill(-pid_, number);
}

void Guard::dismiss() {
  if (lifeline_ >= 0) close(std::exchange(lifeline_, -1));
  if (pid_ <= 0) return;
  kill(-pid_, SIGKILL);
  await_child(pid_);
  pid_ = -1;
}

}  // namespace hawser
