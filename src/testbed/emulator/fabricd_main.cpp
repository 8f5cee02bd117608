// hawser-fabricd: the emulator's daemon, as `hawser fabric up` starts it. It says what is wrong on standard
// error and ends with 1, or writes a byte to the descriptor of --ready when clients may come, and runs until
// `hawser fabric down`.
#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <fstream>
#include <sstream>

#include "base/failure.h"
#include "fabric/topology/makers.h"
#include "fabric/topology/topology_text.h"
#include "testbed/emulator/daemon.h"

namespace hawser::emulator {
namespace {

struct Options {
  std::string what, name = "fabric", rate, latency, parameters, routing = "builtin";
  fabric::MakerOptions maker;
  int lmc = -1;
  int ready = -1;
};

Result<std::string> read_file(const std::string& path) {
  std::ifstream file(path);
  if (!file) return failure(ErrorClass::no_such_file, "cannot read '{}'", path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

Result<fabric::Topology> read_topology(const Options& options) {
  if (fabric::is_maker(options.what)) return fabric::make_topology(options.what, options.maker);
  auto text = read_file(options.what);
  if (!text) return text.take_error();
  return fabric::parse_topology(text.value(), options.what);
}

// The command line over the file of parameters.
Result<> read_parameters(const Options& options, fabric::Topology& topology, fabric::Parameters& parameters) {
  if (!options.parameters.empty()) {
    auto text = read_file(options.parameters);
    if (!text) return text.take_error();
    HAWSER_TRY(fabric::parse_parameters(text.value(), options.parameters, topology, parameters));
  }
  const auto set = [&](const char* option, const char* key, const std::string& value) {
    return fabric::parse_parameters(fmt::format("{} {}", key, value), option, topology, parameters);
  };
  if (!options.rate.empty()) HAWSER_TRY(set("--rate", "link-rate", options.rate));
  if (!options.latency.empty()) HAWSER_TRY(set("--latency", "link-latency", options.latency));
  if (options.lmc >= 0) HAWSER_TRY(set("--lmc", "lmc", std::to_string(options.lmc)));
  // Packets of an MTU are events every few microseconds, more than a crowded machine keeps up with. These
  // take hundreds, well above the noise; `chunk` in the file of parameters says otherwise.
  constexpr std::uint32_t coarse = 64 * 1024;
  if (!parameters.unlimited() && parameters.chunk == 0) parameters.chunk = coarse;
  return {};
}

// Away from the terminal and the pipes of whoever brought the fabric up.
void leave_terminal() {
  const int nothing = open("/dev/null", O_RDWR);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(nothing, fd);
  if (nothing > STDERR_FILENO) close(nothing);
  [[maybe_unused]] const int moved = chdir("/");
}

Result<> serve(const Options& options) {
  if (options.routing != "builtin")
    return failure(ErrorClass::arg, "--routing {}: only builtin is there yet", options.routing);
  auto topology = read_topology(options);
  if (!topology) return topology.take_error();
  fabric::Parameters parameters;
  HAWSER_TRY(read_parameters(options, topology.value(), parameters));
  auto tables =
      fabric::build_routes(topology.value(), parameters.lmc, {.shuffle_seed = parameters.shuffle_seed});
  if (!tables) return tables.take_error();
  auto listener = listen_local(options.name);
  if (!listener) return failure(ErrorClass::name, "fabric '{}': {}", options.name, listener.error().text);
  Daemon daemon(options.name, std::move(listener).value(), std::move(topology).value(),
                std::move(tables).value(), parameters);
  if (!daemon.usable()) return failure(ErrorClass::other, "the system has no more descriptors");
  if (options.ready >= 0) {
    leave_terminal();
    const char ready = 1;
    [[maybe_unused]] const ssize_t written = write(options.ready, &ready, 1);
    close(options.ready);
  }
  daemon.run();
  return {};
}

}  // namespace
}  // namespace hawser::emulator

int main(int argc, char** argv) {
  using namespace hawser;
  emulator::Options options;
  CLI::App app("Runs a virtual InfiniBand fabric for the processes of this user", "hawser fabric up");
  app.add_option("WHAT", options.what,
                 "a topology file, or back-to-back, single-switch, two-switch, fat-tree-144")
      ->required();
  app.add_option("--name", options.name, "name of the fabric")->capture_default_str();
  app.add_option("--hosts", options.maker.hosts)->capture_default_str();
  app.add_option("--rails", options.maker.rails, "adapters per host")->capture_default_str();
  app.add_option("--ports", options.maker.ports, "ports per adapter")->capture_default_str();
  app.add_option("--lmc", options.lmc, "2^lmc LIDs per port");
  app.add_option("--rate", options.rate, "of every link: 200MB/s; without it, unlimited");
  app.add_option("--latency", options.latency, "of every link: 2us");
  app.add_option("--parameters", options.parameters, "file of parameters");
  app.add_option("--routing", options.routing, "builtin")->capture_default_str();
  app.add_option("--ready", options.ready, "descriptor to write to when ready")->group("");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  signal(SIGPIPE, SIG_IGN);
  if (auto served = emulator::serve(options); !served) {
    fmt::print(stderr, "hawser fabric: {}\n", served.error().text);
    return 1;
  }
  return 0;
}
