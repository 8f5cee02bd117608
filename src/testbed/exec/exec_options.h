// The command line of `hawser sim exec`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "testbed/emulator/plan.h"

namespace hawser {

struct ExecOptions {
  int ranks = 0;
  int ranks_per_node = 1;
  emulator::PlanOptions fabric;
  std::string faults;             // a file
  std::uint64_t draw_faults = 0;  // packets among which they fall; 0: none are drawn
  std::uint64_t seed = 1;
  std::string time_limit, compute_scale = "1", queue_pair_cost = "0us", registration_cost = "1us";
  std::string post_cost = "80ns", completion_cost = "60ns", interrupt_cost = "2us";
  std::string trace, json, links_svg;
  std::string stack = "8M";
  bool trace_hash = false, stats = false, label = false, quiet = false, process_per_rank = false;
  bool areas = false, doorbell_per_post = false;
  std::vector<std::string> command;
};

// Answers the code to end with when there is nothing to run: help was asked for, or something is wrong, which
// is said.
std::optional<int> read_command_line(int argc, char** argv, ExecOptions& options);

}  // namespace hawser
