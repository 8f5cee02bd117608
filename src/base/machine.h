// Small services of the operating system to a process, for those who may not call it themselves.
#pragma once

#include <string>
#include <string_view>

namespace hawser {

std::string host_name();
// Writes the text and a newline to standard error in one piece, so that lines of several processes do not
// mix.
void print_error_line(std::string_view text);
// Ends the process at once, without destructors or exit handlers, after flushing what the program printed.
[[noreturn]] void end_process(int code);

}  // namespace hawser
