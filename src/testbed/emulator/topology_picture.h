// A picture of a topology, optionally with the load of its links, for `hawser fabric topology --svg`.
#pragma once

#include <string>
#include <vector>

#include "fabric/topology/path_analysis.h"
#include "fabric/topology/topology.h"

namespace hawser::emulator {

struct PictureOptions {
  std::string title;
  std::vector<fabric::LinkLoad> loads;        // drawn as thickness, colour and number, as in V07 figure 3.5
  bool only_loaded_switches = false;  // leave out switches, and hosts, that no load touches
};

// Hosts below, the switches they hang on above them, then rank by rank.
std::string draw_topology(const fabric::Topology& topology, const PictureOptions& options);

}  // namespace hawser::emulator
