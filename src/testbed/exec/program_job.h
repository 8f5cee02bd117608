// ProgramJob: a program that runs unmodified as the ranks of a simulated job.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "testbed/exec/forked_ranks.h"
#include "testbed/exec/link_load.h"
#include "testbed/exec/program_rank.h"
#include "testbed/exec/progress_line.h"

namespace hawser {

struct ProgramResult {
  SimulationOutcome outcome;
  int exit_code = 0;
  std::string complaint;  // in words, if the job did not end well
};

class ProgramJob final : private RankSwitch, private SimulationObserver {
 public:
  ProgramJob(const ProgramImage& image, const ProgramOptions& program, SimulationOptions simulation,
             bool label, bool quiet, bool process_per_rank);

  // Once.
  ProgramResult run();
  const LinkLoad& link_load() const { return link_load_; }
  const std::vector<std::unique_ptr<ProgramRank>>& ranks() const { return ranks_; }
  int lost_output() const { return merger_.lost(); }

 private:
  void enter(int rank) override { ranks_[static_cast<std::size_t>(rank)]->enter(); }
  void leave(int rank) override { ranks_[static_cast<std::size_t>(rank)]->leave(); }
  void observe(const SimulationView& view) override;
  void run_rank(SimulatedRank& simulated);

  SimulationOptions options_;
  OutputMerger merger_;
  std::unique_ptr<ForkedRanks> processes_;  // null: all ranks are in this one
  LinkLoad link_load_;
  std::unique_ptr<ProgressLine> progress_;
  std::vector<std::unique_ptr<ProgramRank>> ranks_;
};

}  // namespace hawser
