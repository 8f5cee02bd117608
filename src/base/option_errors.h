// How programs that read their options with CLI11 say what is wrong: the program's name first, as everywhere.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace hawser {

inline std::string option_error(const CLI::App* program, const CLI::Error& error) {
  const std::string& name = program->get_name();
  return name + ": " + error.what() + "\nRun `" + name + " --help` for more information.\n";
}

}  // namespace hawser
