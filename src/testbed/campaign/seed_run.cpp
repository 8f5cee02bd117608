#include "testbed/campaign/seed_run.h"

#include <fmt/format.h>

#include <deque>

#include "testbed/campaign/traffic.h"

namespace hawser {

SeedVerdict run_seed(std::uint64_t seed, const SeedOptions& options) {
  Scenario scenario = draw_scenario(seed, options.wishes);
  scenario.simulation.trace_file = options.trace_file;
  scenario.simulation.fabric->planted_bug = options.planted;
  // The memory of the ranks outlives them: it is looked at when nobody is left to write to it.
  std::deque<Buffers> buffers(static_cast<std::size_t>(scenario.simulation.ranks));
  SeedVerdict verdict;
  verdict.outcome = Simulation(scenario.simulation).run([&](SimulatedRank& rank) {
    run_traffic(rank, scenario.traffic, buffers[static_cast<std::size_t>(rank.rank())], seed);
  });
  if (!verdict.outcome.finished()) {
    verdict.complaint = fmt::format("{}: {}", name_of(verdict.outcome.kind), verdict.outcome.report);
    for (const std::string& line : verdict.outcome.output) verdict.complaint += "\n  " + line;
    return verdict;
  }
  for (std::size_t rank = 0; rank < buffers.size(); ++rank) {
    if (std::string damage = buffers[rank].find_damage(); !damage.empty()) {
      verdict.complaint = fmt::format("rank {}: {}", rank, damage);
      return verdict;
    }
  }
  return verdict;
}

}  // namespace hawser
