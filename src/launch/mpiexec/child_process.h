// Starts one rank, the way vfork does: the child borrows this process's memory until it executes the program.
// That costs a fraction of fork and tells at once whether the program could be executed; until then the child
// makes nothing but system calls.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <csignal>
#include <string>
#include <vector>

namespace hawser {

struct ChildPlan {
  const char* path = nullptr;  // what to execute, already looked up in PATH
  char* const* arguments = nullptr;
  char* const* script_arguments =
      nullptr;  // for /bin/sh, should this be a script without #!, as execvp has it
  char* const* environment = nullptr;
  const char* working_directory = nullptr;  // null: stay
  int stdin_fd = -1;
  int stdout_fd = -1;
  int stderr_fd = -1;
  int pmi_fd = -1;  // this and the next are inherited under their numbers
  int node_fd = -1;
  const std::vector<int>* processors = nullptr;  // null or empty: not bound
  pid_t group = 0;
  sigset_t signal_mask;  // mpiexec's own before it began
  rlimit open_files;     // likewise
};

struct ChildStart {
  pid_t pid = -1;  // -1 if it failed, with what failed and why
  const char* step = "";
  int error = 0;
};

ChildStart start_child(const ChildPlan& plan);

// The file that a shell would execute for this name: names without a slash are looked for in `path_list`.
// Empty if there is none that can be executed; `error` then says why, as execve would.
std::string find_program(const std::string& name, std::string_view path_list, int& error);

}  // namespace hawser
