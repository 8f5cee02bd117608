// Small services of the operating system to a process, for those who may not call it themselves.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace hawser {

std::string host_name();

// What is known of the running program; empty where it cannot be found out.
struct ProgramFacts {
  std::vector<std::string> command_line;  // with the program's name
  std::string architecture;               // as `uname -m` says
  std::string working_directory;
};
ProgramFacts program_facts();

// All of a text that a user named: a file or a pipe, of 16 MiB at most. The error has the path and the
// reason.
Result<std::string> read_text(const std::string& path);

// What the process has mapped, in bytes; 0 if that cannot be found out.
std::int64_t address_space_in_use();

// Has a function called when the program ends by returning from main or by exit.
void call_at_exit(void (*function)());
// Has a function called in every child that the program forks, before fork returns there.
void call_in_children(void (*function)());

// Writes the text and a newline to standard error in one piece, so that lines of several processes do not
// mix.
void print_error_line(std::string_view text);
// Ends the process at once, without destructors or exit handlers, after flushing what the program printed.
[[noreturn]] void end_process(int code);

}  // namespace hawser
