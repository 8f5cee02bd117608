#include "launch/mpiexec/child_process.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

namespace hawser {

namespace {

// What the child is given and what it answers, in the memory that both share until it executes the program.
struct Birth {
  const ChildPlan& plan;
  const cpu_set_t* processors;  // null: not bound
  pid_t parent;
  const char* step = nullptr;  // what failed; null: the execution itself
  int error = 0;               // 0: the program runs
};

// Sanitizers keep books on a thread's stack and memory, which a second process in the same memory upsets.
#define HAWSER_NOT_SANITIZED [[gnu::no_sanitize("address", "undefined", "thread")]]

HAWSER_NOT_SANITIZED [[noreturn]] void fail(Birth& birth, const char* step) {
  birth.error = errno;
  birth.step = step;
  _exit(127);
}

HAWSER_NOT_SANITIZED void execute(const ChildPlan& plan) {
  execve(plan.path, plan.arguments, plan.environment);
  if (errno != ENOEXEC) return;
  execve("/bin/sh", plan.script_arguments, plan.environment);
}

// The child's life up to the program.
HAWSER_NOT_SANITIZED int become_rank(void* argument) {
  Birth& birth = *static_cast<Birth*>(argument);
  const ChildPlan& plan = birth.plan;
  // First of all: should mpiexec die, so does this process. The check is for a death before the request.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != birth.parent) _exit(127);
  if (setpgid(0, plan.group) != 0) fail(birth, "join the job's process group");
  if (plan.working_directory != nullptr && chdir(plan.working_directory) != 0)
    fail(birth, plan.working_directory);
  if (dup2(plan.stdin_fd, 0) < 0 || dup2(plan.stdout_fd, 1) < 0 || dup2(plan.stderr_fd, 2) < 0)
    fail(birth, "set up standard input and output");
  fcntl(plan.pmi_fd, F_SETFD, 0);
  fcntl(plan.node_fd, F_SETFD, 0);
  if (birth.processors != nullptr) sched_setaffinity(0, sizeof *birth.processors, birth.processors);
  setrlimit(RLIMIT_NOFILE, &plan.open_files);
  struct sigaction standard = {};
  standard.sa_handler = SIG_DFL;
  for (const int number : {SIGPIPE, SIGXFSZ, SIGTTIN, SIGTTOU}) sigaction(number, &standard, nullptr);
  sigprocmask(SIG_SETMASK, &plan.signal_mask, nullptr);
  execute(plan);
  fail(birth, nullptr);
}

}  // namespace

ChildStart start_child(const ChildPlan& plan) {
  cpu_set_t set;
  CPU_ZERO(&set);
  const bool bound = plan.processors != nullptr && !plan.processors->empty();
  if (bound)
    for (const int number : *plan.processors) CPU_SET(static_cast<std::size_t>(number), &set);
  Birth birth{plan, bound ? &set : nullptr, getpid()};
  // The child runs on a stack of its own while this process waits in clone: vfork, without its pitfalls.
  alignas(16) char stack[64 * 1024];
  const pid_t pid = clone(become_rank, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, &birth);
  if (pid < 0) return {-1, "clone", errno};
  if (birth.error == 0) return {pid, "", 0};
  // The child has ended itself; it is waited for with all the others.
  return {-1, birth.step == nullptr ? plan.path : birth.step, birth.error};
}

std::string find_program(const std::string& name, std::string_view path_list, int& error) {
  error = ENOENT;
  if (name.find('/') != std::string::npos) {
    error = 0;
    return name;  // execve, in the rank's working directory, says whether it is there
  }
  while (true) {
    const std::size_t colon = path_list.find(':');
    std::string candidate(path_list.substr(0, colon));
    if (candidate.empty()) candidate.push_back('.');
    candidate += '/';
    candidate += name;
    struct stat status;
    if (stat(candidate.c_str(), &status) == 0 && S_ISREG(status.st_mode)) {
      if (access(candidate.c_str(), X_OK) == 0) {
        error = 0;
        return candidate;
      }
      error = EACCES;
    }
    if (colon == std::string_view::npos) return {};
    path_list.remove_prefix(colon + 1);
  }
}

}  // namespace hawser
