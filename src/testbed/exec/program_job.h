// ProgramJob: a program that runs unmodified as the ranks of a simulated job.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "testbed/exec/program_rank.h"

namespace hawser {

struct ProgramResult {
  SimulationOutcome outcome;
  int exit_code = 0;
  std::string complaint;  // in words, if the job did not end well
};

class ProgramJob final : private RankSwitch {
 public:
  ProgramJob(const ProgramImage& image, const ProgramOptions& program, SimulationOptions simulation,
             bool label);

  // Once.
  ProgramResult run();
  const std::vector<std::unique_ptr<ProgramRank>>& ranks() const { return ranks_; }

 private:
  void enter(int rank) override { ranks_[static_cast<std::size_t>(rank)]->enter(); }
  void leave(int rank) override { ranks_[static_cast<std::size_t>(rank)]->leave(); }
  void run_rank(SimulatedRank& simulated);

  SimulationOptions options_;
  OutputMerger merger_;
  std::vector<std::unique_ptr<ProgramRank>> ranks_;
};

}  // namespace hawser
