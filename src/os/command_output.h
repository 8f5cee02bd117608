// What a command prints.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace hawser {

// Runs a command (its path and arguments) with these variables added to the environment, and answers what it
// printed. A command that fails is an error with what it printed.
Result<std::string> command_output(std::vector<std::string> words,
                                   std::vector<std::pair<std::string, std::string>> variables);

}  // namespace hawser
