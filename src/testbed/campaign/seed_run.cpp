#include "testbed/campaign/seed_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <vector>

#include "base/assert.h"
#include "testbed/campaign/traffic.h"

namespace hawser {

namespace {

// Those that live were all in one communicator in the end, of which only ranks that were killed are missing.
std::string judge_survivors(const Scenario& scenario, const SimulationOutcome& outcome,
                            const std::vector<int>& left) {
  const int ranks = scenario.simulation.ranks;
  const auto killed = [&](int rank) {
    return std::ranges::find(outcome.killed, rank) != outcome.killed.end();
  };
  int living = 0, together = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    if (killed(rank)) continue;
    ++living;
    const int seen = left[static_cast<std::size_t>(rank)];
    if (together == 0) together = seen;
    if (seen != together)
      return fmt::format("rank {} was left with {} ranks, others with {}", rank, seen, together);
  }
  // Who was killed after the last round is still one of them.
  if (together < living || together > ranks)
    return fmt::format("{} ranks live, but {} were together", living, together);
  return {};
}

SeedVerdict run_scenario(const Scenario& scenario) {
  // The memory of the ranks outlives them: it is looked at when nobody is left to write to it.
  std::deque<Buffers> buffers(static_cast<std::size_t>(scenario.simulation.ranks));
  PostedReceives posted;
  std::vector<int> left(buffers.size());  // as each saw it
  SeedVerdict verdict;
  verdict.outcome = Simulation(scenario.simulation).run([&](SimulatedRank& rank) {
    const auto index = static_cast<std::size_t>(rank.rank());
    if (scenario.survivors.any())
      left[index] = run_survivors(rank, scenario.survivors, buffers[index], scenario.seed);
    else
      run_traffic(rank, scenario.traffic, buffers[index], posted, scenario.seed);
  });
  if (!verdict.outcome.finished()) {
    verdict.complaint = fmt::format("{}: {}", name_of(verdict.outcome.kind), verdict.outcome.report);
    for (const std::string& line : verdict.outcome.output) verdict.complaint += "\n  " + line;
    return verdict;
  }
  if (scenario.survivors.any()) verdict.complaint = judge_survivors(scenario, verdict.outcome, left);
  if (verdict.outcome.rails.protection_errors > 0)
    verdict.complaint = fmt::format("adapters refused {} requests for their keys or bounds",
                                    verdict.outcome.rails.protection_errors);
  if (verdict.outcome.overslept > 0)
    verdict.complaint = fmt::format("ranks overslept {} interrupts", verdict.outcome.overslept);
  for (std::size_t rank = 0; rank < buffers.size(); ++rank) {
    if (std::string damage = buffers[rank].find_damage(); !damage.empty()) {
      verdict.complaint = fmt::format("rank {}: {}", rank, damage);
      return verdict;
    }
  }
  return verdict;
}

// Of each rank's first pieces, which go out before anything is known of the network.
constexpr std::uint64_t first_pieces = 65536;

// Nothing failed, so little may be taken for a failure, and impatience may not cost much.
std::string judge_calm(const Scenario& scenario, const SimulationOutcome& outcome) {
  if (outcome.rails.failed_again > 0)
    return fmt::format("paths failed more than once, {} times, though nothing fails",
                       outcome.rails.failed_again);
  const std::uint64_t again = outcome.repeated_bytes + outcome.rails.bytes_reissued;
  if (again > first_pieces + outcome.payload_bytes / 20)
    return fmt::format("{} of {} bytes were sent again, though nothing is lost", again,
                       outcome.payload_bytes);
  if (outcome.rails.failures == 0 && again == 0) return {};
  Scenario patient = scenario;
  patient.simulation.trace_file.clear();
  patient.simulation.knobs.emplace_back("HAWSER_RAIL_ACKNOWLEDGE_TIME", "4s");
  patient.simulation.knobs.emplace_back("HAWSER_RAIL_WATCHDOG", "100s");
  patient.simulation.knobs.emplace_back("HAWSER_RAIL_SILENCE", "0");
  const SeedVerdict verdict = run_scenario(patient);
  if (!verdict.good()) return "with endless patience: " + verdict.complaint;
  if (outcome.finish_time <= verdict.outcome.finish_time * 13 / 10) return {};
  return fmt::format("took {} ns, but {} ns with endless patience", outcome.finish_time,
                     verdict.outcome.finish_time);
}

// A crowded network makes nobody blind for real failures.
std::string judge_black_holes(const SimulationOutcome& outcome) {
  if (outcome.rails.late_failures == 0) return {};
  return fmt::format("{} of {} failures were found after more than 0.1 s, though all had gone quickly",
                     outcome.rails.late_failures, outcome.rails.failures);
}

}  // namespace

SeedVerdict run_seed(std::uint64_t seed, const SeedOptions& options) {
  Scenario scenario = draw_scenario(seed, options.wishes);
  scenario.simulation.trace_file = options.trace_file;
  HAWSER_ASSERT(plant(options.planted));
  SeedVerdict verdict = run_scenario(scenario);
  if (verdict.good() && options.wishes.calm && options.wishes.black_holes)
    verdict.complaint = judge_black_holes(verdict.outcome);
  else if (verdict.good() && options.wishes.calm)
    verdict.complaint = judge_calm(scenario, verdict.outcome);
  return verdict;
}

}  // namespace hawser
