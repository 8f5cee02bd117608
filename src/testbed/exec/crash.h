// CrashGuard: while it lives, a signal that the processor raises in a rank (a wrong address, a division by
// zero) is that rank's, as if it were a process: its handler, if it has one, else its end. The simulation
// goes on to its report.
#pragma once

#include <csignal>
#include <vector>

namespace hawser {

class CrashGuard {
 public:
  CrashGuard();
  CrashGuard(const CrashGuard&) = delete;
  ~CrashGuard();

 private:
  std::vector<std::byte> stack_;
  stack_t former_stack_{};
  struct sigaction former_[5];
};

}  // namespace hawser
