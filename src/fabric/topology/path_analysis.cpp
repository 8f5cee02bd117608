#include "fabric/topology/path_analysis.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/assert.h"
#include "fabric/topology/subnets.h"

namespace hawser::fabric {
namespace {

// The part that a port of an adapter belongs to, by the switch it hangs on; -1 if it hangs on none.
int part_of(const Topology& topology, const std::vector<int>& part, PortName port) {
  const PortName peer = topology.port(port).peer;
  if (peer.node < 0 || topology.node(peer.node).kind == NodeKind::adapter) return -1;
  return part[static_cast<std::size_t>(peer.node)];
}

bool joined(const Topology& topology, const std::vector<int>& part, PortName a, PortName b) {
  if (topology.port(a).peer == b) return true;
  const int part_a = part_of(topology, part, a);
  return part_a >= 0 && part_a == part_of(topology, part, b);
}

std::vector<PortName> adapter_ports(const Topology& topology) {
  std::vector<PortName> ports;
  for (std::size_t i = 0; i < topology.nodes().size(); ++i) {
    const TopologyNode& node = topology.nodes()[i];
    if (node.kind != NodeKind::adapter) continue;
    for (int p = 1; p <= node.port_count(); ++p) {
      if (node.ports[static_cast<std::size_t>(p)].peer.node >= 0)
        ports.push_back({static_cast<std::int32_t>(i), p});
    }
  }
  return ports;
}

}  // namespace

Path trace_path(const Topology& topology, const RoutingTables& tables, PortName source, Lid destination) {
  constexpr std::size_t longest = 64;
  Path path;
  PortName out = source;
  const PortName owner = tables.owner(destination);
  if (owner.node < 0) return path;
  while (path.hops.size() < longest) {
    path.hops.push_back({out});
    const PortName in = topology.port(out).peer;
    if (in.node < 0) return path;
    if (in.node == owner.node && (in.port == owner.port || owner.port == 0)) {
      path.complete = true;
      return path;
    }
    if (topology.node(in.node).kind == NodeKind::adapter) return path;
    const std::uint8_t port = tables.out_port(in.node, destination);
    if (port == no_port || port == 0 || port > topology.node(in.node).port_count()) return path;
    out = {in.node, port};
  }
  return path;
}

Reachability analyse_paths(const Topology& topology, const RoutingTables& tables) {
  Reachability result;
  const std::vector<int> part = switch_subnets(topology);
  const std::vector<PortName> ports = adapter_ports(topology);
  std::uint64_t spine_sum = 0, spine_pairs = 0;
  result.fewest_spines = 1 << 30;
  for (const PortName from : ports) {
    for (const PortName to : ports) {
      if (from == to || !joined(topology, part, from, to)) continue;
      const RoutingTables::PortAddress address = tables.address(to);
      std::set<std::int32_t> spines;
      bool any_spine = false;
      for (int k = 0; k < 1 << address.lmc; ++k) {
        const auto lid = static_cast<Lid>(address.base + k);
        const Path path = trace_path(topology, tables, from, lid);
        ++result.pairs;
        if (!path.complete) {
          if (result.unreachable.size() < 10) result.unreachable.push_back({from, lid});
          continue;
        }
        ++result.reachable;
        result.longest_path = std::max(result.longest_path, path.hops.size());
        // Host, leaf, spine, leaf: the middle switch is the one the third link leaves.
        if (path.hops.size() >= 4) {
          any_spine = true;
          spines.insert(path.hops[path.hops.size() / 2].out.node);
        }
      }
      if (!any_spine) continue;
      ++spine_pairs;
      spine_sum += spines.size();
      if (result.pairs_by_spines.size() <= spines.size()) result.pairs_by_spines.resize(spines.size() + 1);
      ++result.pairs_by_spines[spines.size()];
      result.fewest_spines = std::min(result.fewest_spines, static_cast<int>(spines.size()));
      result.most_spines = std::max(result.most_spines, static_cast<int>(spines.size()));
    }
  }
  if (spine_pairs == 0) result.fewest_spines = 0;
  if (spine_pairs != 0)
    result.mean_spines = static_cast<double>(spine_sum) / static_cast<double>(spine_pairs);
  return result;
}

std::vector<Flow> displaced_ring(const Topology& topology, int ranks, int step) {
  HAWSER_ASSERT(ranks >= 0 && static_cast<std::size_t>(ranks) <= topology.hosts().size());
  std::vector<Flow> flows;
  const auto port_of = [&](int rank) {
    return PortName{topology.hosts()[static_cast<std::size_t>(rank)].adapters.front(), 1};
  };
  for (int rank = 0; rank < ranks; ++rank)
    flows.push_back({port_of(rank), port_of((rank + step) % ranks), 0});
  return flows;
}

std::vector<LinkLoad> link_loads(const Topology& topology, const RoutingTables& tables,
                                 const std::vector<Flow>& flows) {
  std::map<std::pair<std::int32_t, std::int32_t>, int> count;
  for (const Flow& flow : flows) {
    const Lid lid = static_cast<Lid>(tables.address(flow.to).base + flow.lid_offset);
    for (const Hop& hop : trace_path(topology, tables, flow.from, lid).hops)
      ++count[{hop.out.node, hop.out.port}];
  }
  std::vector<LinkLoad> loads;
  for (std::size_t i = 0; i < topology.nodes().size(); ++i) {
    const TopologyNode& node = topology.nodes()[i];
    if (node.kind != NodeKind::switch_device) continue;
    for (int p = 1; p <= node.port_count(); ++p) {
      const std::int32_t peer = node.ports[static_cast<std::size_t>(p)].peer.node;
      if (peer < 0 || topology.node(peer).kind != NodeKind::switch_device) continue;
      const auto entry = count.find({static_cast<std::int32_t>(i), p});
      loads.push_back({{static_cast<std::int32_t>(i), p}, entry == count.end() ? 0 : entry->second});
    }
  }
  return loads;
}

}  // namespace hawser::fabric
