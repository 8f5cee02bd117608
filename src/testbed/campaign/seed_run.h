// One seed of the campaign, run and judged.
#pragma once

#include <cstdint>
#include <string>

#include "base/planted_bug.h"
#include "testbed/campaign/scenario.h"

namespace hawser {

struct SeedVerdict {
  std::string complaint;  // why the seed fails; empty: it does not
  SimulationOutcome outcome;
  int incidents = 0;  // that began
  bool good() const { return complaint.empty(); }
};

struct SeedOptions {
  ScenarioWishes wishes;
  PlantedBug planted = PlantedBug::none;  // another one only where plant() knows it
  std::string trace_file;
};

SeedVerdict run_seed(std::uint64_t seed, const SeedOptions& options);

}  // namespace hawser
