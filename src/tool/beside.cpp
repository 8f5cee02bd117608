#include "tool/beside.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "os/child_process.h"

namespace hawser {

int become_beside(std::string_view name, std::string_view program, std::span<const std::string_view> words) {
  auto folder = program_folder();
  std::vector<std::string> line{fmt::format("{}/{}", folder ? folder.value() : ".", program)};
  line.insert(line.end(), words.begin(), words.end());
  fmt::print(stderr, "{}: {}\n", name, folder ? become_program(std::move(line)).text : folder.error().text);
  return 1;
}

int run_tune(std::span<const std::string_view> words) {
  return become_beside("hawser tune", "hawser-tune", words);
}

}  // namespace hawser
