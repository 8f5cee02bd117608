// Programs that we start, wait for and end. For programs of one thread: the waiting takes signals.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"

namespace hawser::emulator {

class ChildProcess {
 public:
  struct Plan {
    std::vector<std::string> arguments;                            // the first is the program's path
    std::vector<std::pair<std::string, std::string>> environment;  // in addition to ours
    std::string folder;                                            // to work in
    std::string output;                                            // file for both of its outputs
  };
  // Starts it. It is out of the terminal's reach, and ends at once when we do.
  explicit ChildProcess(const Plan& plan);
  ChildProcess(const ChildProcess&) = delete;
  ~ChildProcess();  // ends it

  bool ended();
  int exit_code() const {
    return exit_code_;
  }  // 128 + signal when a signal ended it; 127 when it did not start

 private:
  pid_t pid_ = -1;
  bool ended_ = false;
  int exit_code_ = 127;
};

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
