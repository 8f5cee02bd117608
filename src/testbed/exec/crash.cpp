#include "testbed/exec/crash.h"

#include "testbed/exec/c_library.h"
#include "testbed/exec/program_rank.h"

namespace hawser {
namespace {

constexpr int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};

void on_signal(int signal) {
  if (ProgramRank* const rank = current_rank()) {
    rank->raise(signal);  // does not come back where there is no handler
    rank->die(signal);
  }
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

}  // namespace

CrashGuard::CrashGuard() : stack_(64 * 1024) {
  const stack_t stack{.ss_sp = stack_.data(), .ss_flags = 0, .ss_size = stack_.size()};
  sigaltstack(&stack, &former_stack_);
  struct sigaction action {};
  action.sa_handler = on_signal;
  // It may not come back, and come again.
  action.sa_flags = SA_ONSTACK | SA_NODEFER;
  for (int i = 0; i < 5; ++i) sigaction(signals[i], &action, &former_[i]);
}

CrashGuard::~CrashGuard() {
  for (int i = 0; i < 5; ++i) sigaction(signals[i], &former_[i], nullptr);
  sigaltstack(&former_stack_, nullptr);
}

}  // namespace hawser
