#include "testbed/emulator/opensm.h"

#include <fmt/core.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "base/failure.h"
#include "base/random.h"
#include "fabric/topology/opensm_dumps.h"
#include "fabric/topology/subnets.h"
#include "fabric/topology/topology_text.h"
#include "os/child_process.h"
#include "os/file_descriptor.h"
#include "testbed/emulator/interrupts.h"

namespace hawser::emulator {
namespace {

namespace fs = std::filesystem;

// OpenSM is installed where a user's PATH does not look.
std::string find_program(const char* name) {
  const char* const path = std::getenv("PATH");
  std::istringstream folders(std::string(path == nullptr ? "" : path) + ":/usr/local/sbin:/usr/sbin:/sbin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string file = folder + "/" + name;
    if (!folder.empty() && access(file.c_str(), X_OK) == 0) return file;
  }
  return {};
}

// The library that stands between OpenSM and ibsim.
std::string find_umad2sim() {
  std::error_code ignored;
  std::vector<fs::path> folders;
  for (const char* root : {"/usr/local/lib", "/usr/local/lib64", "/usr/lib64", "/usr/lib"}) {
    folders.emplace_back(root);
    for (const auto& entry : fs::directory_iterator(root, ignored)) folders.push_back(entry.path());
  }
  for (const fs::path& folder : folders) {
    const fs::path file = folder / "umad2sim" / "libumad2sim.so";
    if (fs::exists(file, ignored)) return file.string();
  }
  return {};
}

// A folder that vanishes with its owner.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::error_code ignored;
    std::string name = (fs::temp_directory_path(ignored) / "hawser-opensm-XXXXXX").string();
    if (mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ~ScratchFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }
  std::string file(const char* name) const { return path_ + "/" + name; }
  bool write(const char* name, const std::string& text) const {
    std::ofstream out(file(name));
    out << text;
    out.close();
    return static_cast<bool>(out);
  }
  std::string read(const char* name) const {
    std::ifstream in(file(name));
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
  }

 private:
  std::string path_;
};

// Whether ibsim takes clients: its control socket, of datagrams in the abstract name space, is bound.
bool listens(const std::string& socket_name) {
  const FileDescriptor probe(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const std::string name = socket_name + ":ctl";
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (!probe.valid() || name.size() + 2 > sizeof address.sun_path) return false;
  std::memcpy(address.sun_path + 1, name.c_str(), name.size() + 1);  // ibsim counts the final zero
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size() + 2);
  return connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), length) == 0;
}

// The last line of a text that contains `mark`, without what stands before it.
std::string last_line_with(const std::string& text, const std::string& mark) {
  const std::size_t at = text.rfind(mark);
  if (at == std::string::npos) return {};
  return text.substr(at + mark.size(), text.find('\n', at) - at - mark.size());
}

// "updn" of "osm_ucast_mgr_process: updn tables configured on all switches".
std::string engine_in_log(const std::string& log) {
  const std::size_t at = log.rfind(" tables configured on all switches");
  if (at == std::string::npos) return {};
  const std::size_t start = log.rfind(' ', at - 1) + 1;
  return log.substr(start, at - start);
}

// The roots of up/down routing: the switches farthest from any adapter; where all have adapters, the one with
// the most cables to others. OpenSM guesses them in trees, but not in rings and the like.
std::string root_guids(const fabric::Topology& graph) {
  const auto is_adapter = [&](std::int32_t node) {
    return graph.node(node).kind == fabric::NodeKind::adapter;
  };
  std::vector<int> distance(graph.nodes().size(), -1);
  std::vector<std::int32_t> queue;
  for (std::size_t i = 0; i < distance.size(); ++i) {
    if (!is_adapter(static_cast<std::int32_t>(i))) continue;
    distance[i] = 0;
    queue.push_back(static_cast<std::int32_t>(i));
  }
  std::vector<std::int32_t> roots;
  std::size_t most = 0;
  for (std::size_t next = 0; next < queue.size(); ++next) {
    const std::int32_t node = queue[next];
    const int here = distance[static_cast<std::size_t>(node)];
    std::size_t cables = 0;
    for (const fabric::TopologyPort& port : graph.node(node).ports) {
      if (port.peer.node < 0) continue;
      cables += is_adapter(port.peer.node) ? 0 : 1;
      int& there = distance[static_cast<std::size_t>(port.peer.node)];
      if (there >= 0) continue;
      there = here + 1;
      queue.push_back(port.peer.node);
    }
    if (here == 0 || (here == 1 && cables < most)) continue;
    const bool better = roots.empty() || here > distance[static_cast<std::size_t>(roots.front())];
    if (better || (here == 1 && cables > most)) roots.clear();
    if (roots.empty() || here > 1) roots.push_back(node);
    most = std::max(most, cables);
  }
  std::string text;
  for (const std::int32_t root : roots) text += fmt::format("0x{:016x}\n", graph.node(root).guid);
  return text;
}

class SubnetRun {
 public:
  SubnetRun(const fabric::Subnet& subnet, const OpenSmOptions& options)
      : subnet_(subnet), options_(options), socket_name_(fs::path(scratch_.path()).filename().string()) {}

  Result<fabric::RoutingTables> run() {
    if (scratch_.path().empty()) return failure(ErrorKind::io, "cannot make a directory for OpenSM's files");
    if (!write_input()) return failure(ErrorKind::io, "cannot write OpenSM's input to {}", scratch_.path());
    HAWSER_TRY(start_ibsim());
    HAWSER_TRY(run_opensm());
    const std::string log = scratch_.read("opensm.log");
    const std::string used = engine_in_log(log);
    if (subnet_.has_switch && used != options_.engine) {
      return failure(ErrorKind::other, "OpenSM routed with '{}' instead of '{}': {}", used, options_.engine,
                     last_error(log));
    }
    return load();
  }

 private:
  bool write_input() const {
    std::string order;
    if (options_.port_order_seed != 0) {
      std::vector<std::uint64_t> guids;
      for (const fabric::TopologyNode& node : subnet_.graph.nodes()) {
        if (node.kind == fabric::NodeKind::switch_device) {
          guids.push_back(node.guid);
          continue;
        }
        for (std::size_t p = 1; p < node.ports.size(); ++p) {
          if (node.ports[p].peer.node >= 0) guids.push_back(node.ports[p].guid);
        }
      }
      Random random(options_.port_order_seed);
      for (std::size_t i = guids.size(); i > 1; --i) std::swap(guids[i - 1], guids[random.below(i)]);
      for (const std::uint64_t guid : guids) order += fmt::format("0x{:016x}\n", guid);
    }
    // An empty file of settings, so that the machine's own OpenSM's do not count.
    return scratch_.write("topology", fabric::write_topology(subnet_.graph)) &&
           scratch_.write("settings", "") && scratch_.write("port-order", order) &&
           scratch_.write("roots", root_guids(subnet_.graph));
  }

  Result<> start_ibsim() {
    std::size_t switches = 0, ports = 0;
    for (const fabric::TopologyNode& node : subnet_.graph.nodes()) {
      switches += node.kind == fabric::NodeKind::switch_device ? 1 : 0;
      ports += node.ports.size() + 1;
    }
    const std::size_t nodes = subnet_.graph.nodes().size();
    auto started =
        ChildProcess::start({.words = {find_program("ibsim"), "-s", "-n", "-N", std::to_string(nodes + 16),
                                       "-S", std::to_string(switches + 16), "-P", std::to_string(ports + 256),
                                       "-L", "49152", "topology"},
                             .environment = {{"IBSIM_SOCKNAME", socket_name_}},
                             .folder = scratch_.path(),
                             .output_file = scratch_.file("ibsim.out"),
                             .dependent = true});
    if (!started) return started.take_error();
    ibsim_.emplace(std::move(started).value());
    const WaitOutcome outcome =
        wait_for(options_.patience, [&] { return ibsim_->ended() || listens(socket_name_); });
    if (outcome != WaitOutcome::done) return no_end("ibsim did not become ready", outcome);
    if (ibsim_->ended())
      return failure(ErrorKind::other, "ibsim refused the topology: {}", tail_of(scratch_.read("ibsim.out")));
    return {};
  }

  Result<> run_opensm() {
    std::vector<std::string> arguments{find_program("opensm"),
                                       "-F",
                                       "settings",
                                       "-o",
                                       "-e",
                                       "-f",
                                       "opensm.log",
                                       "-D",
                                       "0x43",
                                       "-l",
                                       std::to_string(options_.lmc),
                                       "-R",
                                       options_.engine + ",no_fallback",
                                       "-s",
                                       "0",
                                       "--maxsmps",
                                       "64",
                                       "--dump_files_dir",
                                       scratch_.path()};
    if (options_.port_order_seed != 0) arguments.insert(arguments.end(), {"-X", "port-order"});
    if (subnet_.has_switch && (options_.engine == "updn" || options_.engine == "dnup"))
      arguments.insert(arguments.end(), {"-a", "roots"});
    auto started = ChildProcess::start({.words = std::move(arguments),
                                        .environment = {{"IBSIM_SOCKNAME", socket_name_},
                                                        {"SIM_HOST", subnet_.graph.nodes().front().name},
                                                        {"OSM_CACHE_DIR", scratch_.path()},
                                                        {"OSM_TMP_DIR", scratch_.path()},
                                                        {"LD_PRELOAD", find_umad2sim()}},
                                        .folder = scratch_.path(),
                                        .output_file = scratch_.file("opensm.out"),
                                        .dependent = true});
    if (!started) return started.take_error();
    ChildProcess opensm = std::move(started).value();
    // It tries again for ever when its engine cannot route, or when ibsim has gone.
    bool refused = false;
    const WaitOutcome outcome = wait_for(options_.patience, [&] {
      refused = scratch_.read("opensm.log").find("No routing engine able") != std::string::npos;
      return refused || opensm.ended() || ibsim_->ended();
    });
    const std::string log = scratch_.read("opensm.log");
    if (outcome != WaitOutcome::done) return no_end("OpenSM did not finish", outcome);
    if (refused) {
      return failure(ErrorKind::other, "OpenSM's engine '{}' cannot route this with LMC {}: {}",
                     options_.engine, options_.lmc, last_error(log));
    }
    if (!opensm.ended())
      return failure(ErrorKind::other, "ibsim ended: {}", tail_of(scratch_.read("ibsim.out")));
    if (opensm.await().exit_code() != 0) {
      return failure(ErrorKind::other, "OpenSM ended with {}: {} {}", opensm.await().exit_code(),
                     last_error(log), tail_of(scratch_.read("opensm.out")));
    }
    return {};
  }

  Result<fabric::RoutingTables> load() const {
    const std::string lfts = scratch_.read("opensm-lfts.dump"), list = scratch_.read("opensm-subnet.lst"),
                      guids = scratch_.read("guid2lid");
    fabric::RoutingTables tables(subnet_.graph);
    HAWSER_TRY(fabric::load_opensm_dumps(subnet_.graph, {lfts, list, guids}, tables));
    for (std::size_t i = 0; i < subnet_.graph.nodes().size(); ++i) {
      const fabric::TopologyNode& node = subnet_.graph.nodes()[i];
      for (int p = 1; node.kind == fabric::NodeKind::adapter && p <= node.port_count(); ++p) {
        const fabric::PortName port{static_cast<std::int32_t>(i), p};
        if (subnet_.graph.port(port).peer.node < 0) continue;
        const auto address = tables.address(port);
        if (address.base == 0 || address.lmc != options_.lmc) {
          return failure(ErrorKind::other, "OpenSM did not give the {} LIDs of LMC {} to {}",
                         1 << options_.lmc, options_.lmc, node.name);
        }
      }
    }
    return tables;
  }

  Error no_end(const char* what, WaitOutcome outcome) const {
    if (outcome == WaitOutcome::interrupted) return failure(ErrorKind::other, "interrupted");
    return failure(ErrorKind::other, "{} within {} s: {}", what, options_.patience / second,
                   last_error(scratch_.read("opensm.log")));
  }
  static std::string last_error(const std::string& log) {
    std::string text = last_line_with(log, "LMC > 0 is not supported");
    if (!text.empty()) return "LMC > 0 is not supported" + text;
    // Says this of `no_fallback` though it knows the word.
    text = last_line_with(log, "] 0x01 -> ");
    return text.empty() || text.find("no_fallback") != std::string::npos ? "its log contains no error" : text;
  }
  static std::string tail_of(const std::string& text) {
    return last_line_with(text.substr(0, text.find_last_not_of('\n') + 1), "\n");
  }

  const fabric::Subnet& subnet_;
  const OpenSmOptions& options_;
  ScratchFolder scratch_;
  const std::string socket_name_;
  std::optional<ChildProcess> ibsim_;
};

constexpr const char* known_engines[] = {"updn", "minhop", "dnup", "ftree", "dfsssp", "sssp", "lash", "nue"};

Result<> check(const OpenSmOptions& options) {
  if (options.lmc < 0 || options.lmc > 7)
    return failure(ErrorKind::invalid_argument, "LMC {}: must be 0 to 7", options.lmc);
  if (std::find(std::begin(known_engines), std::end(known_engines), options.engine) ==
      std::end(known_engines)) {
    return failure(ErrorKind::invalid_argument,
                   "OpenSM has no engine '{}': updn, minhop, dnup, ftree, dfsssp, sssp, lash or nue",
                   options.engine);
  }
  if (options.engine == "ftree" && options.lmc > 0)
    return failure(ErrorKind::invalid_argument, "OpenSM's engine ftree does not support LMC > 0; updn does");
  if (const std::string missing = opensm_missing(); !missing.empty())
    return failure(ErrorKind::other, "{}", missing);
  return {};
}

}  // namespace

std::string opensm_missing() {
  if (find_program("opensm").empty())
    return "OpenSM is not installed: install the package opensm, or use --routing builtin";
  if (find_program("ibsim").empty() || find_umad2sim().empty())
    return "ibsim, on which OpenSM runs, is not installed: install the package ibsim-utils, or use --routing "
           "builtin";
  return {};
}

Result<fabric::RoutingTables> route_by_opensm(const fabric::Topology& topology,
                                              const OpenSmOptions& options) {
  HAWSER_TRY(check(options));
  const InterruptGuard guard;
  fabric::RoutingTables tables(topology);
  for (const fabric::Subnet& subnet : fabric::split_subnets(topology)) {
    auto part = SubnetRun(subnet, options).run();
    if (!part) return part.take_error();
    HAWSER_TRY(fabric::merge_tables(subnet, part.value(), tables));
  }
  return tables;
}

}  // namespace hawser::emulator
