// Simulated jobs over rails that differ.
#pragma once

#include <string>
#include <vector>

#include "testbed/simulator/simulation.h"

namespace hawser {

// A rank on each host. `links` are the rails: what the cables of each are, where that is not as for `all`.
inline SimulationOptions over_rails(int ranks, const std::string& all,
                                    const std::vector<std::string>& links) {
  SimulationOptions options{.ranks = ranks};
  const int rails = static_cast<int>(links.size());
  options.fabric = FabricOptions{.topology = rails > 1 ? "two-switch" : "single-switch", .rails = rails};
  std::string& parameters = options.fabric->parameters;
  parameters = all + "\n";
  for (int host = 0; host < ranks; ++host)
    for (int rail = 0; rail < rails; ++rail)
      if (const std::string& link = links[static_cast<std::size_t>(rail)]; !link.empty())
        parameters += "link n" + std::to_string(host) + "/hw" + std::to_string(rail) + " " + link + "\n";
  return options;
}

// What software takes of the time where messages are timed.
inline void count_software(SimulationOptions& options) {
  options.fabric->cost.registration = 0;
  options.fabric->cost.post = options.fabric->cost.completion = 250;
  options.time_limit = 60 * second;
}

}  // namespace hawser
