#include "tool/beside.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "os/child_process.h"

namespace hawser {

// Answers 1, with a message that begins with `name`, if it cannot.
static int become(std::string_view name, std::string_view program, std::span<const std::string_view> words) {
  auto folder = program_folder();
  std::vector<std::string> line{fmt::format("{}/{}", folder ? folder.value() : ".", program)};
  line.insert(line.end(), words.begin(), words.end());
  fmt::print(stderr, "{}: {}\n", name, folder ? become_program(std::move(line)).text : folder.error().text);
  return 1;
}

// Programs that it runs need another one than campaigns.
int run_sim(std::span<const std::string_view> words) {
  const bool runs_program = !words.empty() && words[0] == "exec";
  return become("hawser sim", runs_program ? "hawser-exec" : "hawser-sim",
                runs_program ? words.subspan(1) : words);
}

int run_tune(std::span<const std::string_view> words) { return become("hawser tune", "hawser-tune", words); }

}  // namespace hawser
