// Waiting for what children do without being ended by an interrupt. For programs of one thread: the waiting
// takes signals.
#pragma once

#include <signal.h>

#include <functional>

#include "base/time.h"

namespace hawser::emulator {

// While it lives, an interrupt does not end us but is kept; it is raised again afterwards.
class InterruptGuard {
 public:
  InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  ~InterruptGuard();

 private:
  sigset_t before_;
};

enum class WaitOutcome { done, timed_out, interrupted };
// Asks every few milliseconds, and whenever a child ends. Only under an InterruptGuard.
WaitOutcome wait_for(Nanoseconds patience, const std::function<bool()>& condition);

}  // namespace hawser::emulator
