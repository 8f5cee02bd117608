#include "tool/sim_command.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

namespace hawser {

// The simulator is a program of its own beside this one, which takes our place.
int run_sim(std::span<const std::string_view> words) {
  std::vector<std::string> line{
      (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "hawser-sim").string()};
  line.insert(line.end(), words.begin(), words.end());
  std::vector<char*> arguments;
  for (std::string& word : line) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execv(arguments[0], arguments.data());
  fmt::print(stderr, "hawser sim: cannot run {}: {}\n", line[0], std::strerror(errno));
  return 1;
}

}  // namespace hawser
