#include "testbed/emulator/topology_command.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <fstream>

#include "base/failure.h"
#include "base/option_errors.h"
#include "base/quantity.h"
#include "fabric/topology/report.h"
#include "fabric/topology/topology_text.h"
#include "testbed/emulator/plan.h"
#include "testbed/emulator/topology_picture.h"

namespace hawser::emulator {
namespace {

struct TopologyOptions {
  PlanOptions plan;
  bool paths = false;
  std::string flows, svg, lid_offset = "0";
};

Result<int> read_offset(const std::string& text) {
  if (text == "all") return -1;
  const auto offset = parse_count(text, {0, 127});
  if (!offset)
    return failure(ErrorKind::invalid_argument, "--lid-offset {}: must be a number from 0, or all", text);
  return static_cast<int>(offset.value());
}

Result<> explain(const TopologyOptions& options) {
  auto offset = read_offset(options.lid_offset);
  if (!offset) return offset.take_error();
  auto made = make_plan(options.plan);
  if (!made) return made.take_error();
  const Plan& plan = made.value();
  if (!options.paths && options.flows.empty() && options.svg.empty()) {
    fmt::print("{}", fabric::write_topology(plan.topology));
    return {};
  }
  fabric::FlowPattern pattern;
  if (!options.flows.empty()) {
    auto read = fabric::parse_flows(options.flows, offset.value(), plan.topology, plan.tables);
    if (!read) return read.take_error();
    pattern = std::move(read).value();
  }
  const std::string what =
      fmt::format("{}: LMC {}, {}", options.plan.what, plan.parameters.lmc, plan.routing);
  fmt::print("{}: {} hosts, LMC {}\nrouting: {}\n", options.plan.what, plan.topology.hosts().size(),
             plan.parameters.lmc, plan.routing);
  PictureOptions picture{.title = what, .loads = {}};
  if (options.paths) fmt::print("{}", fabric::report_paths(plan.topology, plan.tables));
  if (!options.flows.empty()) {
    fmt::print("{}", fabric::report_loads(plan.topology, plan.tables, pattern));
    picture.title = pattern.title + "; " + what;
    picture.loads = fabric::link_loads(plan.topology, plan.tables, pattern.flows);
    picture.only_loaded_switches = true;
  }
  if (options.svg.empty()) return {};
  std::ofstream file(options.svg);
  file << draw_topology(plan.topology, picture);
  file.close();
  if (!file) return failure(ErrorKind::io, "cannot write '{}'", options.svg);
  return {};
}

}  // namespace

int print_topology(int argc, const char* const* argv) {
  TopologyOptions options;
  CLI::App app("Show what a fabric would be, without bringing it up", "hawser fabric topology");
  declare_options(app, options.plan);
  app.add_flag("--paths", options.paths,
               "walk all forwarding tables: is every LID reachable, and over how many spines");
  app.add_option("--flows", options.flows,
                 "loads of links under displaced-ring:STEP[:RANKS], all-to-all[:RANKS] or "
                 "n0/hw0>n12/hw0[,...]");
  app.add_option("--lid-offset", options.lid_offset,
                 "which LID of the receivers the flows use, or all, and all rails")
      ->capture_default_str();
  app.add_option("--svg", options.svg, "draw a picture to this file");
  app.failure_message(option_error);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (auto explained = explain(options); !explained) {
    fmt::print(stderr, "hawser fabric: {}\n", explained.error().text);
    return 1;
  }
  return 0;
}

}  // namespace hawser::emulator
