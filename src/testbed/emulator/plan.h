// What a fabric is made of, from the words of the command line: topology, parameters, forwarding tables.
#pragma once

#include <string>

#include "base/result.h"
#include "fabric/parameters.h"
#include "fabric/topology/routing.h"
#include "fabric/topology/topology.h"

namespace CLI {
class App;
}

namespace hawser::emulator {

struct PlanOptions {
  std::string what;  // a file, or the name of a built-in topology
  std::string rate, latency, parameters, routing = "builtin";
  int hosts = 0, rails = 0, ports = 0;  // 0: the topology's own
  int lmc = -1;                         // -1: as the file of parameters says, or 0
  std::string shuffle_seed;
};

struct Plan {
  fabric::Topology topology;
  fabric::Parameters parameters;
  fabric::RoutingTables tables;
  std::string routing;  // how the tables came about, for people
};

// Declares the options of `hawser fabric up` and `hawser fabric topology`.
void declare_options(CLI::App& app, PlanOptions& options);
// These without the topology itself.
void declare_layout(CLI::App& app, PlanOptions& options);
// Reads files, runs OpenSM if asked to. Errors name file and line.
Result<Plan> make_plan(const PlanOptions& options);
// For the user, if chunks take so long on a link that adapters' acknowledge times are in danger; else empty.
std::string chunk_warning(const fabric::Parameters& parameters);

}  // namespace hawser::emulator
