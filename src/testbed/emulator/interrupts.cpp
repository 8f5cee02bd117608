#include "testbed/emulator/interrupts.h"

namespace hawser::emulator {
namespace {

constexpr int interrupts[] = {SIGINT, SIGTERM, SIGHUP};

}  // namespace

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
