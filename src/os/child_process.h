// Programs that we start and wait for. A child is started the way vfork does: it borrows this process's
// memory until it executes the program. That costs a fraction of fork and tells at once whether the program
// could be executed; until then the child makes nothing but system calls.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <csignal>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace hawser {

// What is left as it is here, the child has from us.
struct ChildPlan {
  const char* path = nullptr;  // what to execute, already looked up in PATH
  char* const* arguments = nullptr;
  // For /bin/sh, should it be a script without #!, as execvp has it; null: that is an error.
  char* const* script_arguments = nullptr;
  char* const* environment = nullptr;
  const char* working_directory = nullptr;
  int stdin_fd = -1;
  int stdout_fd = -1;
  int stderr_fd = -1;
  std::span<const int> inherited = {};           // descriptors that it keeps, under their numbers
  const std::vector<int>* processors = nullptr;  // that it is bound to; null or empty: none
  bool new_session = false;
  std::optional<pid_t> group;  // of processes; 0: a new one
  bool ends_with_us = false;
  std::span<const int> default_signals = {};  // that we ignore
  const sigset_t* signal_mask = nullptr;
  const rlimit* open_files = nullptr;
};

struct ChildStart {
  pid_t pid = -1;  // -1 if it failed, with what failed and why
  const char* step = "";
  int error = 0;
};

ChildStart start_child(const ChildPlan& plan);

struct ChildEnd {
  bool signaled = false;
  int code = 0;  // exit code, or number of the signal
  bool core_dumped = false;
  int exit_code() const { return signaled ? 128 + code : code; }  // as a shell says it
};

// Waits for it.
ChildEnd await_child(pid_t child);
// Nothing if it still runs.
std::optional<ChildEnd> child_end(pid_t child);
// Of any child that has ended and was not asked for; nothing if there is none.
std::optional<std::pair<pid_t, ChildEnd>> next_child_end();

// A program by its words.
struct Program {
  std::vector<std::string> words;                                     // the first is its path
  std::vector<std::pair<std::string, std::string>> environment = {};  // in addition to ours
  std::string folder = {};                                            // to work in; empty: ours
  std::string output_file = {};      // for both of its outputs; then its input is empty
  int output = -1;                   // a descriptor for its standard output
  std::span<const int> inherited{};  // descriptors that it keeps, under their numbers
  bool new_session = false;
  // It is out of the terminal's reach, and ends at once when we do.
  bool dependent = false;
};

// One that was started, or could not be.
class ChildProcess {
 public:
  static Result<ChildProcess> start(const Program& program);
  ChildProcess(ChildProcess&& other) noexcept : pid_(std::exchange(other.pid_, -1)), end_(other.end_) {}
  ChildProcess& operator=(ChildProcess&&) = delete;
  ~ChildProcess();  // ends it
  // Lets it go on without us.
  void release() { pid_ = -1; }

  bool ended();
  // Waits for its end.
  ChildEnd await();

 private:
  explicit ChildProcess(pid_t pid) : pid_(pid) {}

  pid_t pid_;  // -1: it was waited for, or released
  ChildEnd end_;
};

// The file that a shell would execute for this name: names without a slash are looked for in `path_list`.
// Empty if there is none that can be executed; `error` then says why, as execve would.
std::string find_program(const std::string& name, std::string_view path_list, int& error);

// The folder of the program that runs: ours lie beside each other.
Result<std::string> program_folder();
// The program takes our place; returns only if it cannot.
Error become_program(std::vector<std::string> words);

}  // namespace hawser
