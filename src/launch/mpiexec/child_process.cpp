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

// What the child writes and the parent, whose memory it shares until it executes the program, reads.
struct Failure {
  const char* volatile step = nullptr;
  volatile int error = 0;
  pid_t parent = 0;
};

[[noreturn]] void fail(Failure& failure, const char* step) {
  failure.error = errno;
  failure.step = step;
  _exit(127);
}

void execute(const ChildPlan& plan) {
  execve(plan.path, plan.arguments, plan.environment);
  if (errno != ENOEXEC) return;
  // A script without #! runs in the shell, as execvp has it. The array lives on the child's stack.
  constexpr int limit = 1024;
  const char* shell_arguments[limit + 3] = {"/bin/sh", plan.path};
  int count = 1;
  while (plan.arguments[count] != nullptr && count < limit) {
    shell_arguments[count + 1] = plan.arguments[count];
    ++count;
  }
  execve("/bin/sh", const_cast<char* const*>(shell_arguments), plan.environment);
}

[[noreturn]] void become_rank(const ChildPlan& plan, const cpu_set_t* processors, Failure& failure) {
  // First of all: should mpiexec die, so does this process. The check is for a death before the request.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != failure.parent) _exit(127);
  if (setpgid(0, plan.group) != 0) fail(failure, "join the job's process group");
  if (plan.working_directory != nullptr && chdir(plan.working_directory) != 0)
    fail(failure, plan.working_directory);
  if (dup2(plan.stdin_fd, 0) < 0 || dup2(plan.stdout_fd, 1) < 0 || dup2(plan.stderr_fd, 2) < 0)
    fail(failure, "set up standard input and output");
  for (const int fd : plan.inherited) fcntl(fd, F_SETFD, 0);
  if (processors != nullptr) sched_setaffinity(0, sizeof *processors, processors);
  setrlimit(RLIMIT_NOFILE, &plan.open_files);
  struct sigaction standard = {};
  standard.sa_handler = SIG_DFL;
  for (const int number : {SIGPIPE, SIGTTIN, SIGTTOU}) sigaction(number, &standard, nullptr);
  sigprocmask(SIG_SETMASK, &plan.signal_mask, nullptr);
  execute(plan);
  fail(failure, nullptr);
}

// By itself, so that the compiler keeps nothing in registers that the child could change.
[[gnu::noinline]] ChildStart fork_rank(const ChildPlan& plan, const cpu_set_t* processors) {
  Failure failure;
  failure.parent = getpid();
  const pid_t pid = vfork();
  if (pid == 0) become_rank(plan, processors, failure);
  if (pid < 0) return {-1, "fork", errno};
  if (failure.error == 0) return {pid, "", 0};
  // The child has ended itself; it is waited for with all the others.
  return {-1, failure.step == nullptr ? plan.path : failure.step, failure.error};
}

}  // namespace

ChildStart start_child(const ChildPlan& plan) {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (plan.processors == nullptr || plan.processors->empty()) return fork_rank(plan, nullptr);
  for (const int number : *plan.processors) CPU_SET(static_cast<std::size_t>(number), &set);
  return fork_rank(plan, &set);
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
