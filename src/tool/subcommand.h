// A subcommand of the `hawser` command: a name, a line of help, and a function. A new one is a file with
// such a function, and a line in the table of hawser_main.cpp.
#pragma once

#include <span>
#include <string_view>

namespace hawser {

struct Subcommand {
  std::string_view name;
  std::string_view help;
  // `words` are what follows the name. Answers the exit code: 0, 1 if it failed, 2 if it was asked wrongly.
  int (*run)(std::span<const std::string_view> words);
};

inline constexpr int exit_usage = 2;

}  // namespace hawser
