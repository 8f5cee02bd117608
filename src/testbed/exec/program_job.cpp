#include "testbed/exec/program_job.h"

#include <fmt/format.h>

#include <utility>

#include "testbed/exec/crash.h"

namespace hawser {

ProgramJob::ProgramJob(const ProgramImage& image, const ProgramOptions& program, SimulationOptions simulation,
                       bool label, bool quiet, bool process_per_rank)
    : options_(std::move(simulation)), merger_(label) {
  options_.rank_switch = this;
  options_.observer = this;
  next_time = link_load_.next_time;
  if (process_per_rank) {
    processes_ = std::make_unique<ForkedRanks>(
        options_.ranks, [this](int rank) { ranks_[static_cast<std::size_t>(rank)]->output().finish(); });
    options_.processes = processes_.get();
  }
  if (!quiet) progress_ = std::make_unique<ProgressLine>(options_.ranks);
  (void)folder_of_simulator();  // before a rank goes elsewhere
  for (int rank = 0; rank < options_.ranks; ++rank)
    ranks_.push_back(std::make_unique<ProgramRank>(image, program, merger_, rank));
}

void ProgramJob::run_rank(SimulatedRank& simulated) {
  ProgramRank& rank = *ranks_[static_cast<std::size_t>(simulated.rank())];
  rank.run(simulated);
  const RankEnd& end = rank.end();
  if (end.code == 0 && end.reason.empty()) return;
  simulated.end_job(
      end.code, fmt::format("rank {} {}", rank.rank(),
                            end.reason.empty() ? fmt::format("exited with code {}", end.code) : end.reason));
}

void ProgramJob::observe(const SimulationView& view) {
  link_load_.observe(view);
  next_time = link_load_.next_time;
  if (progress_ != nullptr) progress_->observe(view);
}

ProgramResult ProgramJob::run() {
  const CrashGuard guard;
  Simulation simulation(options_);
  ProgramResult result;
  result.outcome = simulation.run([this](SimulatedRank& rank) { run_rank(rank); });
  if (processes_ != nullptr)
    processes_->end();
  else
    for (auto& rank : ranks_) rank->output().finish();
  using Kind = SimulationOutcome::Kind;
  switch (result.outcome.kind) {
    case Kind::finished:
      return result;
    case Kind::aborted:
      result.exit_code = result.outcome.exit_code != 0 ? result.outcome.exit_code : 1;
      break;
    case Kind::deadlock:
      result.exit_code = exit_deadlock;
      break;
    case Kind::livelock:
      result.exit_code = exit_livelock;
      break;
    case Kind::time_limit:
      result.exit_code = exit_time_limit;
      break;
    case Kind::exception:
      result.exit_code = 1;
      break;
    case Kind::bad_options:
      result.exit_code = 2;
      break;
  }
  result.complaint = result.outcome.report;
  return result;
}

}  // namespace hawser
