// A campaign with a program of the user's in place of the drawn ones: each seed runs it, unmodified, under
// other faults
// (`hawser sim exec --draw-faults`), and its exit code and output are compared with those of a run without
// faults.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace hawser {

struct ProgramCampaignOptions {
  std::vector<std::string> command;  // the program and its arguments
  int ranks = 2;
  std::uint64_t first = 1, last = 1000;  // seeds, both included
  int jobs = 1;
  bool stop_at_failure = false;
  bool compare_output = true;  // its lines, in whatever order
};

struct ProgramCampaignResult {
  std::uint64_t seeds = 0, failed = 0;
  double seconds = 0;
};

// An error if the program cannot be run, or fails without faults.
Result<ProgramCampaignResult> run_program_campaign(
    const ProgramCampaignOptions& options,
    const std::function<void(std::uint64_t seed, const std::string& reason)>& on_failure);

}  // namespace hawser
