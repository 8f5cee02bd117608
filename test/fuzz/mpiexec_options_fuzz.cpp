// mpiexec's command line and host files, down to where each rank is placed.
#include <vector>

#include "fuzz_input.h"
#include "launch/mpiexec/options.h"
#include "launch/mpiexec/placement.h"

using namespace hawser;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::FuzzInput input(data, size);
  std::vector<std::string_view> words;
  const std::string_view line = input.text_until('\0');
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t end = std::min(line.find('\n', at), line.size());
    words.push_back(line.substr(at, end - at));
    at = end + 1;
  }
  auto options = parse_options(words);
  const auto hosts = parse_host_file(input.rest());
  if (!options || options.value().action != JobOptions::Action::run) return 0;
  if (hosts && !hosts.value().empty() && options.value().hosts.empty()) options.value().hosts = hosts.value();
  std::int64_t ranks = 0;
  for (const ProgramOptions& program : options.value().programs) ranks += program.ranks;
  if (ranks > 10'000) return 0;
  const auto placement = place_ranks(options.value(), "here");
  if (!placement) return 0;
  for (const std::int32_t node : placement.value().node_of_rank)
    HAWSER_ASSERT(node >= 0 && node < std::ssize(placement.value().host_names));
  return 0;
}
