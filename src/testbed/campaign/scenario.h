// Scenario: everything that a seed of the campaign stands for: fabric, knobs, program, faults.
//
// Each has a safety phase, in which incidents come and go while the program runs, and then a liveness phase:
// the last incident ends, the fabric is made whole, and everything must complete within `patience`.
#pragma once

#include <cstdint>
#include <string>

#include "testbed/campaign/survivor_traffic.h"
#include "testbed/campaign/traffic_plan.h"
#include "testbed/simulator/simulation.h"

namespace hawser {

// All know what stands in each other's windows.
inline constexpr int most_ranks_with_windows = 8;

// What a person decides in place of the seed.
struct ScenarioWishes {
  int ranks = 0;       // 0: by the seed, mostly 2 to 4
  bool faults = true;  // false: nothing fails
  // Slow and crowded networks on which nothing fails (calm_scenario.cpp).
  bool calm = false;
  bool black_holes = false;  // with calm: but links go silent
  bool kills = false;        // ranks are killed, and the others go on; else by the seed, one of sixteen
};

struct Scenario {
  std::uint64_t seed = 0;
  SimulationOptions simulation;
  TrafficPlan traffic;
  SurvivorPlan survivors;  // in place of the traffic, where ranks are killed
  // A few lines for a person.
  std::string describe() const;
};

Scenario draw_scenario(std::uint64_t seed, const ScenarioWishes& wishes);
// What draw_scenario makes of ScenarioWishes::calm.
Scenario draw_calm_scenario(std::uint64_t seed, const ScenarioWishes& wishes);

}  // namespace hawser
