#include "os/child_process.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>

#include "base/failure.h"
#include "os/file_descriptor.h"

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
#ifdef __clang__
#define HAWSER_NOT_SANITIZED [[clang::no_sanitize("address", "undefined", "thread")]]
#else
#define HAWSER_NOT_SANITIZED [[gnu::no_sanitize("address", "undefined", "thread")]]
#endif

HAWSER_NOT_SANITIZED [[noreturn]] void fail(Birth& birth, const char* step) {
  birth.error = errno;
  birth.step = step;
  _exit(127);
}

HAWSER_NOT_SANITIZED void execute(const ChildPlan& plan) {
  execve(plan.path, plan.arguments, plan.environment);
  if (errno != ENOEXEC || plan.script_arguments == nullptr) return;
  execve("/bin/sh", plan.script_arguments, plan.environment);
}

// Its descriptors, limits and signals.
HAWSER_NOT_SANITIZED void take_places(Birth& birth) {
  const ChildPlan& plan = birth.plan;
  const int places[] = {plan.stdin_fd, plan.stdout_fd, plan.stderr_fd};
  for (int place = 0; place < 3; ++place)
    if (places[place] >= 0 && dup2(places[place], place) < 0) fail(birth, "set up standard input and output");
  for (const int descriptor : plan.inherited) fcntl(descriptor, F_SETFD, 0);
  if (birth.processors != nullptr) sched_setaffinity(0, sizeof *birth.processors, birth.processors);
  if (plan.open_files != nullptr) setrlimit(RLIMIT_NOFILE, plan.open_files);
  struct sigaction standard = {};
  standard.sa_handler = SIG_DFL;
  for (const int number : plan.default_signals) sigaction(number, &standard, nullptr);
  if (plan.signal_mask != nullptr) sigprocmask(SIG_SETMASK, plan.signal_mask, nullptr);
}

// The child's life up to the program.
HAWSER_NOT_SANITIZED int become_child(void* argument) {
  Birth& birth = *static_cast<Birth*>(argument);
  const ChildPlan& plan = birth.plan;
  if (plan.ends_with_us) {
    // First of all: should we die, so does this process. The check is for a death before the request.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != birth.parent) _exit(127);
  }
  if (plan.new_session) setsid();
  if (plan.group && setpgid(0, *plan.group) != 0) fail(birth, "join the process group");
  if (plan.working_directory != nullptr && chdir(plan.working_directory) != 0)
    fail(birth, plan.working_directory);
  take_places(birth);
  execute(plan);
  fail(birth, nullptr);
}

ChildEnd end_of(int status) {
  ChildEnd end;
  end.signaled = WIFSIGNALED(status);
  end.code = end.signaled ? WTERMSIG(status) : WEXITSTATUS(status);
  end.core_dumped = end.signaled && WCOREDUMP(status);
  return end;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> out;
  for (std::string& word : words) out.push_back(word.data());
  out.push_back(nullptr);
  return out;
}

std::vector<std::string> environment_with(std::span<const std::pair<std::string, std::string>> added) {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const auto replaced = [&](const auto& variable) { return text.starts_with(variable.first + "="); };
    if (std::none_of(added.begin(), added.end(), replaced)) all.emplace_back(text);
  }
  for (const auto& [name, value] : added) all.push_back(name + "=" + value);
  return all;
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
  const pid_t pid = clone(become_child, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, &birth);
  if (pid < 0) return {-1, "clone", errno};
  if (birth.error == 0) return {pid, "", 0};
  // The child has ended itself; it is waited for with all the others.
  return {-1, birth.step == nullptr ? plan.path : birth.step, birth.error};
}

ChildEnd await_child(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return end_of(status);
}

std::optional<ChildEnd> child_end(pid_t child) {
  int status = 0;
  if (waitpid(child, &status, WNOHANG) != child) return std::nullopt;
  return end_of(status);
}

std::optional<std::pair<pid_t, ChildEnd>> next_child_end() {
  int status = 0;
  const pid_t child = waitpid(-1, &status, WNOHANG);
  if (child <= 0) return std::nullopt;
  return std::pair(child, end_of(status));
}

Result<ChildProcess> ChildProcess::start(const Program& program) {
  std::vector<std::string> words = program.words;
  std::vector<std::string> variables = environment_with(program.environment);
  const std::vector<char*> arguments = pointers(words), environment = pointers(variables);
  ChildPlan plan;
  plan.path = program.words[0].c_str();
  plan.arguments = arguments.data();
  plan.environment = environment.data();
  if (!program.folder.empty()) plan.working_directory = program.folder.c_str();
  plan.stdout_fd = program.output;
  plan.inherited = program.inherited;
  plan.new_session = program.new_session;
  FileDescriptor input, output;
  if (!program.output_file.empty()) {
    input = FileDescriptor(open("/dev/null", O_RDONLY | O_CLOEXEC));
    output =
        FileDescriptor(open(program.output_file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (!input.valid() || !output.valid())
      return failure(ErrorKind::io, "cannot write to {}: {}", program.output_file, std::strerror(errno));
    plan.stdin_fd = input.get();
    plan.stdout_fd = plan.stderr_fd = output.get();
  }
  sigset_t none;
  sigemptyset(&none);
  if (program.dependent) {
    plan.group = 0;
    plan.ends_with_us = true;
    plan.signal_mask = &none;
  }
  const ChildStart started = start_child(plan);
  if (started.pid < 0)
    return failure(ErrorKind::other, "cannot run {}: {}{}", program.words[0],
                   started.step == plan.path ? "" : fmt::format("{}: ", started.step),
                   std::strerror(started.error));
  return ChildProcess(started.pid);
}

ChildProcess::~ChildProcess() {
  if (ended()) return;
  kill(pid_, SIGKILL);
  await_child(pid_);
}

bool ChildProcess::ended() {
  if (pid_ < 0) return true;
  const auto end = child_end(pid_);
  if (!end) return false;
  end_ = *end;
  pid_ = -1;
  return true;
}

ChildEnd ChildProcess::await() {
  if (pid_ >= 0) end_ = await_child(pid_);
  pid_ = -1;
  return end_;
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

Result<std::string> program_folder() {
  char path[PATH_MAX] = {};
  if (readlink("/proc/self/exe", path, sizeof path - 1) < 0)
    return failure(ErrorKind::other, "/proc cannot be read: {}", std::strerror(errno));
  const std::string own = path;
  return own.substr(0, own.rfind('/'));
}

Error become_program(std::vector<std::string> words) {
  const std::vector<char*> arguments = pointers(words);
  execvp(arguments[0], arguments.data());
  return failure(ErrorKind::other, "cannot run {}: {}", words[0], std::strerror(errno));
}

}  // namespace hawser
