#include "fabric/topology/report.h"

#include <algorithm>
#include <map>

#include "base/failure.h"
#include "base/quantity.h"
#include "fabric/topology/load_bound.h"

namespace hawser::fabric {
namespace {

std::string plural(std::uint64_t count, const char* word) {
  return fmt::format("{} {}{}", count, word, count == 1 ? "" : "s");
}

std::vector<std::string_view> split(std::string_view text, char mark) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t at = text.find(mark);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

Result<int> read_count(std::string_view text, std::string_view what, int least, std::size_t most) {
  const std::string name = fmt::format("a number of {}", what);
  auto number = parse_count(text, {static_cast<std::uint64_t>(least), most}, name.c_str());
  if (!number) return number.take_error();
  return static_cast<int>(number.value());
}

std::vector<Flow> all_to_all(const Topology& topology, int ranks) {
  std::vector<Flow> flows;
  for (int step = 1; step < ranks; ++step) {
    const std::vector<Flow> part = displaced_ring(topology, ranks, step);
    flows.insert(flows.end(), part.begin(), part.end());
  }
  return flows;
}

// A flow between the first rails of two hosts, and those between their other ones.
std::vector<Flow> over_all_rails(const Topology& topology, const std::vector<Flow>& flows) {
  std::vector<Flow> all;
  for (const Flow& flow : flows) {
    const auto adapters_of = [&](PortName port) -> const std::vector<std::int32_t>& {
      return topology.hosts()[static_cast<std::size_t>(topology.node(port.node).host)].adapters;
    };
    const auto &from = adapters_of(flow.from), &to = adapters_of(flow.to);
    for (std::size_t rail = 0; rail < std::min(from.size(), to.size()); ++rail)
      all.push_back({{from[rail], 1}, {to[rail], 1}, 0});
  }
  return all;
}

Result<std::vector<Flow>> read_pairs(std::string_view text, const Topology& topology) {
  std::vector<Flow> flows;
  for (const std::string_view pair : split(text, ',')) {
    const auto ends = split(pair, '>');
    if (ends.size() != 2) {
      return failure(ErrorKind::invalid_argument,
                     "'{}' is no pattern of flows: displaced-ring:STEP[:RANKS], all-to-all[:RANKS] or "
                     "PORT>PORT[,PORT>PORT...]",
                     text);
    }
    Flow flow;
    for (PortName* const port : {&flow.from, &flow.to}) {
      auto found = topology.find_port(ends[port == &flow.to ? 1 : 0]);
      if (!found) return found.take_error();
      if (topology.node(found.value().node).kind != NodeKind::adapter)
        return failure(ErrorKind::invalid_argument, "'{}' is a port of a switch; flows go between adapters",
                       pair);
      *port = found.value();
    }
    flows.push_back(flow);
  }
  return flows;
}

// The switch-to-switch ports of every switch that has adapters.
std::vector<std::pair<std::int32_t, std::vector<int>>> leaves(const Topology& topology) {
  std::vector<std::pair<std::int32_t, std::vector<int>>> found;
  for (std::size_t i = 0; i < topology.nodes().size(); ++i) {
    const TopologyNode& node = topology.nodes()[i];
    if (node.kind != NodeKind::switch_device) continue;
    bool leaf = false;
    std::vector<int> up;
    for (int p = 1; p <= node.port_count(); ++p) {
      const std::int32_t peer = node.ports[static_cast<std::size_t>(p)].peer.node;
      if (peer < 0) continue;
      if (topology.node(peer).kind == NodeKind::adapter) {
        leaf = true;
      } else {
        up.push_back(p);
      }
    }
    if (leaf && !up.empty()) found.emplace_back(static_cast<std::int32_t>(i), std::move(up));
  }
  return found;
}

}  // namespace

std::string report_paths(const Topology& topology, const RoutingTables& tables) {
  const Reachability found = analyse_paths(topology, tables);
  std::string text = fmt::format("{} of {} (adapter port, LID of another) reachable{}\n", found.reachable,
                                 found.pairs, found.reachable == found.pairs ? "" : ": NOT ALL");
  for (const Reachability::Broken& broken : found.unreachable) {
    text += fmt::format("  not from {} to LID {} ({})\n", topology.port_text(broken.from), broken.to,
                        topology.port_text(tables.owner(broken.to)));
  }
  text += fmt::format("longest path: {}\n", plural(found.longest_path, "link"));
  if (found.pairs_by_spines.empty()) return text + "no pair of adapters is joined over spines\n";
  text += "different spines over which the LIDs of a port lead:\n";
  const std::uint64_t most = *std::max_element(found.pairs_by_spines.begin(), found.pairs_by_spines.end());
  constexpr std::uint64_t widest = 40;
  for (std::size_t spines = 1; spines < found.pairs_by_spines.size(); ++spines) {
    const std::uint64_t pairs = found.pairs_by_spines[spines];
    if (pairs == 0) continue;
    text += fmt::format("  {:>3}  {:>7} pairs  {}\n", spines, pairs,
                        std::string(std::max<std::uint64_t>(1, pairs * widest / most), '#'));
  }
  return text;
}

Result<FlowPattern> parse_flows(std::string_view text, int lid_offset, const Topology& topology,
                                const RoutingTables& tables) {
  const auto words = split(text, ':');
  const std::size_t hosts = topology.hosts().size();
  FlowPattern pattern;
  if (words[0] == "displaced-ring") {
    if (words.size() < 2 || words.size() > 3)
      return failure(ErrorKind::invalid_argument, "'{}': must have the form displaced-ring:STEP[:RANKS]",
                     text);
    auto ranks = words.size() == 3 ? read_count(words[2], "ranks", 2, hosts)
                                   : Result<int>(static_cast<int>(std::min<std::size_t>(24, hosts)));
    if (!ranks) return ranks.take_error();
    auto step = read_count(words[1], "steps", 1, static_cast<std::size_t>(std::max(1, ranks.value() - 1)));
    if (!step) return step.take_error();
    pattern = {fmt::format("displaced ring of {} ranks, step {}", ranks.value(), step.value()),
               displaced_ring(topology, ranks.value(), step.value())};
  } else if (words[0] == "all-to-all") {
    auto ranks =
        words.size() == 2 ? read_count(words[1], "ranks", 2, hosts) : Result<int>(static_cast<int>(hosts));
    if (!ranks) return ranks.take_error();
    pattern = {fmt::format("all-to-all of {} ranks", ranks.value()), all_to_all(topology, ranks.value())};
  } else {
    auto flows = read_pairs(text, topology);
    if (!flows) return flows.take_error();
    pattern = {std::string(text), std::move(flows).value()};
  }
  const bool of_ranks = words[0] == "displaced-ring" || words[0] == "all-to-all";
  if (of_ranks && lid_offset < 0) pattern.flows = over_all_rails(topology, pattern.flows);
  std::vector<Flow> addressed;
  for (Flow flow : pattern.flows) {
    const int lids = 1 << tables.address(flow.to).lmc;
    if (lid_offset >= lids) {
      return failure(ErrorKind::invalid_argument, "{} has {} (LMC {}): there is no LID offset {}",
                     topology.port_text(flow.to), plural(static_cast<std::uint64_t>(lids), "LID"),
                     tables.address(flow.to).lmc, lid_offset);
    }
    const int first = lid_offset < 0 ? 0 : lid_offset, last = lid_offset < 0 ? lids - 1 : lid_offset;
    for (flow.lid_offset = first; flow.lid_offset <= last; ++flow.lid_offset) addressed.push_back(flow);
  }
  pattern.flows = std::move(addressed);
  pattern.title += lid_offset < 0 ? ", all LIDs" : fmt::format(", LID offset {}", lid_offset);
  return pattern;
}

std::string report_loads(const Topology& topology, const RoutingTables& tables, const FlowPattern& pattern) {
  std::string text = fmt::format("{}: {}\n", pattern.title, plural(pattern.flows.size(), "flow"));
  std::size_t lost = 0;
  for (const Flow& flow : pattern.flows) {
    const auto lid = static_cast<Lid>(tables.address(flow.to).base + flow.lid_offset);
    lost += trace_path(topology, tables, flow.from, lid).complete ? 0 : 1;
  }
  if (lost != 0) text += fmt::format("{} DO NOT ARRIVE\n", plural(lost, "flow"));
  const LoadBound bound = divide_flows(topology, tables, pattern.flows);
  text += fmt::format("busiest link if divided as well as the LIDs allow: {:.2f} (no less than {:.2f})\n",
                      bound.reached, bound.at_least);
  std::map<std::pair<std::int32_t, std::int32_t>, int> load;
  for (const LinkLoad& each : link_loads(topology, tables, pattern.flows))
    load[{each.out.node, each.out.port}] = each.flows;
  if (load.empty()) return text + "no links between switches\n";
  std::vector<int> shown_ports;
  std::map<int, int> up_links, down_links;
  for (const auto& [leaf, ports] : leaves(topology)) {
    std::string up, down, header;
    int sum = 0;
    std::map<int, int> ups, downs;
    for (const int port : ports) {
      const PortName peer = topology.port({leaf, port}).peer;
      const int sent = load[{leaf, port}], received = load[{peer.node, peer.port}];
      header += fmt::format(" {:>3}", port);
      up += fmt::format(" {:>3}", sent);
      down += fmt::format(" {:>3}", received);
      ++ups[sent];
      ++downs[received];
      sum += sent + received;
    }
    if (sum == 0) continue;
    if (ports != shown_ports) text += fmt::format("{:<16} port{}\n", "", header);
    shown_ports = ports;
    text += fmt::format("{:<16} up  {}\n{:<16} down{}\n", topology.node(leaf).description, up,
                        topology.node(leaf).description, down);
    for (const auto& [flows, links] : ups) up_links[flows] += links;
    for (const auto& [flows, links] : downs) down_links[flows] += links;
  }
  for (const auto& [name, links] : {std::pair{"up-links", up_links}, std::pair{"down-links", down_links}}) {
    if (links.empty()) continue;
    text += fmt::format("{} of these switches by load:", name);
    for (auto each = links.rbegin(); each != links.rend(); ++each)
      text += fmt::format(" {} x {}", each->second, each->first);
    text += '\n';
  }
  return text;
}

}  // namespace hawser::fabric
