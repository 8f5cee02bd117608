#include "testbed/emulator/plan.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <bit>

#include "base/failure.h"
#include "base/machine.h"
#include "fabric/topology/makers.h"
#include "fabric/topology/topology_text.h"
#include "testbed/emulator/opensm.h"

namespace hawser::emulator {
namespace {

Result<fabric::Topology> read_topology(const PlanOptions& options) {
  if (fabric::is_maker(options.what)) {
    const bool tree = options.what == "fat-tree-144";
    fabric::MakerOptions maker{.hosts = tree ? 144 : 2, .rails = tree ? 1 : 2, .ports = 1};
    if (options.hosts != 0) maker.hosts = options.hosts;
    if (options.rails != 0) maker.rails = options.rails;
    if (options.ports != 0) maker.ports = options.ports;
    return fabric::make_topology(options.what, maker);
  }
  auto text = read_text(options.what);
  if (!text) {
    return failure(
        ErrorKind::not_found,
        "{}; nor is it a built-in topology (back-to-back, single-switch, two-switch, fat-tree, fat-tree-144)",
        text.error().text);
  }
  if (options.hosts != 0 || options.rails != 0 || options.ports != 0) {
    return failure(ErrorKind::invalid_argument,
                   "--hosts, --rails and --ports are for built-in topologies; the file '{}' says it itself",
                   options.what);
  }
  return fabric::parse_topology(text.value(), options.what);
}

// The command line over the file of parameters.
constexpr double longest_chunk_seconds = 0.0016;

// Bytes per second; 0: no link has a rate.
double slowest_rate(const fabric::Parameters& parameters) {
  double slowest = parameters.link_rate;
  for (const fabric::LinkParameters& link : parameters.links)
    if (link.rate && *link.rate > 0 && (slowest == 0 || *link.rate < slowest)) slowest = *link.rate;
  return slowest;
}

// The largest power of two that the slowest link moves in that time.
std::uint32_t bearable_chunk(const fabric::Parameters& parameters) {
  const double bytes = slowest_rate(parameters) * longest_chunk_seconds;
  return bytes >= 1 ? std::bit_floor(static_cast<std::uint32_t>(std::min(bytes, 1e9))) : UINT32_MAX;
}

Result<> read_parameters(const PlanOptions& options, fabric::Topology& topology,
                         fabric::Parameters& parameters) {
  if (!options.parameters.empty()) {
    auto text = read_text(options.parameters);
    if (!text) return text.take_error();
    HAWSER_TRY(fabric::parse_parameters(text.value(), options.parameters, topology, parameters));
  }
  const auto set = [&](const char* option, const char* key, const std::string& value) -> Result<> {
    if (value.empty()) return {};
    return fabric::parse_parameters(fmt::format("{} {}", key, value), option, topology, parameters);
  };
  HAWSER_TRY(set("--rate", "link-rate", options.rate));
  HAWSER_TRY(set("--latency", "link-latency", options.latency));
  HAWSER_TRY(set("--lmc", "lmc", options.lmc < 0 ? "" : std::to_string(options.lmc)));
  HAWSER_TRY(set("--shuffle-seed", "shuffle-seed", options.shuffle_seed));
  if (parameters.congestion_control && parameters.ecn_threshold == 0)
    return failure(ErrorKind::invalid_argument,
                   "congestion-control on needs an ecn-threshold, or nothing is ever marked");
  // Packets of an MTU are events every few microseconds, more than a crowded machine keeps up with. These
  // take hundreds, well above the noise; `chunk` in the file of parameters says otherwise.
  constexpr std::uint32_t coarse = 64 * 1024;
  if (!parameters.unlimited() && parameters.chunk == 0)
    parameters.chunk = std::clamp(bearable_chunk(parameters), parameters.mtu, coarse);
  return {};
}

Result<> route(const PlanOptions& options, Plan& plan) {
  const fabric::Parameters& parameters = plan.parameters;
  const std::string shuffled =
      parameters.shuffle_seed == 0 ? "" : fmt::format(", shuffled with seed {}", parameters.shuffle_seed);
  if (options.routing == "builtin") {
    auto tables =
        fabric::build_routes(plan.topology, parameters.lmc, {.shuffle_seed = parameters.shuffle_seed});
    if (!tables) return tables.take_error();
    plan.tables = std::move(tables).value();
    plan.routing = "built-in up/down router" + shuffled;
    return {};
  }
  OpenSmOptions opensm{.lmc = parameters.lmc, .port_order_seed = parameters.shuffle_seed};
  if (options.routing.starts_with("opensm:")) {
    opensm.engine = options.routing.substr(std::string("opensm:").size());
  } else if (options.routing != "opensm") {
    return failure(ErrorKind::invalid_argument, "--routing {}: must be builtin, opensm or opensm:ENGINE",
                   options.routing);
  }
  const bool in_order = opensm.engine == "updn" || opensm.engine == "minhop";
  if (opensm.port_order_seed != 0 && !in_order) {
    return failure(ErrorKind::invalid_argument,
                   "--shuffle-seed works with OpenSM's engines updn and minhop, not with {}", opensm.engine);
  }
  auto tables = route_by_opensm(plan.topology, opensm);
  if (!tables) return failure(ErrorKind::other, "--routing {}: {}", options.routing, tables.error().text);
  plan.tables = std::move(tables).value();
  plan.routing =
      "OpenSM " + opensm.engine + (shuffled.empty() ? "" : ", ports in an order" + shuffled.substr(1));
  return {};
}

}  // namespace

void declare_options(CLI::App& app, PlanOptions& options) {
  app.add_option("WHAT", options.what,
                 "a topology file (what ibnetdiscover prints), or back-to-back, single-switch, two-switch, "
                 "fat-tree, fat-tree-144")
      ->required();
  declare_layout(app, options);
}

void declare_layout(CLI::App& app, PlanOptions& options) {
  const CLI::Range count(1, 16384);
  app.add_option("--hosts", options.hosts, "2, or 144 on fat-tree-144")->check(count);
  app.add_option("--rails", options.rails, "adapters per host; 2, or 1 on fat-tree-144")->check(count);
  app.add_option("--ports", options.ports, "ports per adapter; 1")->check(count);
  app.add_option("--lmc", options.lmc, "2^lmc LIDs per port");
  app.add_option("--rate", options.rate, "rate of every link, such as 200MB/s; default: unlimited");
  app.add_option("--latency", options.latency, "latency of every link, such as 2us");
  app.add_option("--parameters", options.parameters, "file with more parameters");
  app.add_option("--routing", options.routing,
                 "builtin, opensm, or opensm:ENGINE (updn, minhop, dnup, ftree, dfsssp, sssp, lash, nue)")
      ->capture_default_str();
  app.add_option(
      "--shuffle-seed", options.shuffle_seed,
      "uneven routes: builtin picks at random among equal ways; opensm visits ports in a random order");
}

// What a chunk takes on the slowest link should be little beside the time after which adapters send again:
// it is acknowledged, and lost, as a whole. Usual is from 16 ms (HAWSER_RAIL_ACKNOWLEDGE_TIME) up.
std::string chunk_warning(const fabric::Parameters& parameters) {
  const double rate = slowest_rate(parameters);
  const std::uint32_t chunk = std::max(parameters.chunk, parameters.mtu);
  if (rate == 0 || chunk / rate <= longest_chunk_seconds) return {};
  const std::uint32_t wanted = std::max(bearable_chunk(parameters), 256u);
  return fmt::format(
      "a chunk of {} bytes takes {:.1f} ms on the slowest link ({:.3g} MB/s), and is acknowledged as a "
      "whole; adapters may mistake that for a failure. {}",
      chunk, chunk / rate * 1e3, rate / 1e6,
      wanted >= parameters.mtu ? fmt::format("Write 'chunk {}' in the file of parameters.", wanted)
                               : fmt::format("Write 'mtu {0} chunk {0}' in the file of parameters, and raise "
                                             "HAWSER_RAIL_ACKNOWLEDGE_TIME if that is still too much.",
                                             wanted));
}

Result<Plan> make_plan(const PlanOptions& options) {
  auto topology = read_topology(options);
  if (!topology) return topology.take_error();
  Plan plan;
  plan.topology = std::move(topology).value();
  HAWSER_TRY(read_parameters(options, plan.topology, plan.parameters));
  HAWSER_TRY(route(options, plan));
  return plan;
}

}  // namespace hawser::emulator
