#include "tool/sim_command.h"

#include <fmt/core.h>

#include <string>
#include <vector>

#include "os/child_process.h"

namespace hawser {

// The simulator is a program of its own beside this one, which takes our place; programs that it runs need
// another.
int run_sim(std::span<const std::string_view> words) {
  const bool runs_program = !words.empty() && words[0] == "exec";
  if (runs_program) words = words.subspan(1);
  auto folder = program_folder();
  std::vector<std::string> line{(folder ? folder.value() : ".") +
                                (runs_program ? "/hawser-exec" : "/hawser-sim")};
  line.insert(line.end(), words.begin(), words.end());
  fmt::print(stderr, "hawser sim: {}\n", folder ? become_program(std::move(line)).text : folder.error().text);
  return 1;
}

}  // namespace hawser
