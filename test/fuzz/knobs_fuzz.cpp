// The environment of a process, one variable a line.
#include <string>
#include <vector>

#include "base/assert.h"
#include "base/knobs.h"
#include "fuzz_input.h"

using namespace hawser;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::FuzzInput input(data, size);
  std::vector<std::string_view> environment;
  while (!input.empty()) environment.push_back(input.text_until('\n'));
  const auto knobs = parse_knobs(environment);
  if (!knobs) return 0;
  // What is accepted can be written as a user would, and read back.
  const auto infos = knob_infos();
  const auto values = knob_values(knobs.value());
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < infos.size(); ++i) lines.push_back(infos[i].variable + "=" + values[i]);
  const std::vector<std::string_view> again(lines.begin(), lines.end());
  const auto same = parse_knobs(again);
  HAWSER_ASSERT(same && knob_values(same.value()) == values);
  return 0;
}
