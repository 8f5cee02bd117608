#include "testbed/emulator/child_process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

namespace hawser::emulator {
namespace {

constexpr int interrupts[] = {SIGINT, SIGTERM, SIGHUP};

}  // namespace

ChildProcess::ChildProcess(const Plan& plan) {
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ < 0) ended_ = true;
  if (pid_ != 0) return;
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  const int output = open(plan.output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  const int input = open("/dev/null", O_RDONLY);
  if (getppid() != parent || output < 0 || input < 0 || chdir(plan.folder.c_str()) != 0) _exit(127);
  dup2(input, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  for (const auto& [name, value] : plan.environment) setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> arguments;
  for (const std::string& argument : plan.arguments) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  execv(arguments[0], arguments.data());
  _exit(127);
}

ChildProcess::~ChildProcess() {
  if (ended()) return;
  kill(pid_, SIGKILL);  // OpenSM does not hear anything else while it connects
  waitpid(pid_, nullptr, 0);
}

bool ChildProcess::ended() {
  int status = 0;
  if (!ended_ && waitpid(pid_, &status, WNOHANG) == pid_) {
    ended_ = true;
    exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  return ended_;
}

InterruptGuard::InterruptGuard() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  for (const int signal : interrupts) sigaddset(&set, signal);
  sigprocmask(SIG_BLOCK, &set, &before_);
}

InterruptGuard::~InterruptGuard() { sigprocmask(SIG_SETMASK, &before_, nullptr); }

WaitOutcome wait_for(Nanoseconds patience, const std::function<bool()>& condition) {
  MonotonicClock clock;
  const Nanoseconds end = clock.now() + patience;
  sigset_t children;
  sigemptyset(&children);
  sigaddset(&children, SIGCHLD);
  while (!condition()) {
    if (clock.now() > end) return WaitOutcome::timed_out;
    sigset_t pending;
    sigpending(&pending);
    for (const int signal : interrupts)
      if (sigismember(&pending, signal) == 1) return WaitOutcome::interrupted;
    const timespec pause{0, 5 * millisecond};
    sigtimedwait(&children, nullptr, &pause);
  }
  return WaitOutcome::done;
}

}  // namespace hawser::emulator
