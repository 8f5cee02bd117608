#include "fabric/topology/subnets.h"

#include <algorithm>

#include "base/failure.h"

namespace hawser::fabric {
namespace {

bool is_switch_node(const Topology& topology, std::int32_t node) {
  return topology.node(node).kind == NodeKind::switch_device;
}

// The subnet of the cable in a port: its switch's, or one of its own, numbered from `switched` upwards by the
// lower end of the cable; -1 without cable.
class Cables {
 public:
  explicit Cables(const Topology& topology) : topology_(topology), of_switch_(switch_subnets(topology)) {
    for (const int subnet : of_switch_) count_ = std::max(count_, subnet + 1);
    switched_ = count_;
  }

  int subnet(PortName port) const {
    const PortName peer = topology_.port(port).peer;
    if (peer.node < 0) return -1;
    for (const std::int32_t node : {port.node, peer.node}) {
      if (of_switch_[static_cast<std::size_t>(node)] >= 0) return of_switch_[static_cast<std::size_t>(node)];
    }
    const PortName end = port.node < peer.node ? port : peer;
    for (std::size_t i = 0; i < direct_.size(); ++i) {
      if (direct_[i] == end) return switched_ + static_cast<int>(i);
    }
    return -1;
  }
  void number_direct_cables() {
    for (std::size_t i = 0; i < topology_.nodes().size(); ++i) {
      const auto node = static_cast<std::int32_t>(i);
      for (int p = 1; !is_switch_node(topology_, node) && p <= topology_.node(node).port_count(); ++p) {
        const PortName peer = topology_.port({node, p}).peer;
        if (peer.node > node && !is_switch_node(topology_, peer.node)) direct_.push_back({node, p});
      }
    }
    count_ = switched_ + static_cast<int>(direct_.size());
  }
  int count() const { return count_; }
  int switched() const { return switched_; }
  int of_switch(std::int32_t node) const { return of_switch_[static_cast<std::size_t>(node)]; }

 private:
  const Topology& topology_;
  std::vector<int> of_switch_;
  std::vector<PortName> direct_;
  int switched_ = 0, count_ = 0;
};

void give_guids(const Topology& topology, Subnet& subnet) {
  constexpr std::uint64_t base = 0x0002c90300000000;
  std::vector<std::size_t> order(subnet.nodes.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return topology.node(subnet.nodes[a]).guid < topology.node(subnet.nodes[b]).guid;
  });
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    TopologyNode& node = subnet.graph.node(static_cast<std::int32_t>(order[rank]));
    node.guid = base | ((rank + 1) << 8);
    for (std::size_t p = 0; p < node.ports.size(); ++p)
      node.ports[p].guid = node.kind == NodeKind::adapter ? node.guid + p : node.guid;
  }
}

}  // namespace

std::vector<int> switch_subnets(const Topology& topology) {
  std::vector<int> subnet(topology.nodes().size(), -1);
  int next = 0;
  for (std::size_t start = 0; start < subnet.size(); ++start) {
    if (subnet[start] >= 0 || !is_switch_node(topology, static_cast<std::int32_t>(start))) continue;
    std::vector<std::size_t> stack{start};
    subnet[start] = next;
    while (!stack.empty()) {
      const std::size_t node = stack.back();
      stack.pop_back();
      for (const TopologyPort& port : topology.nodes()[node].ports) {
        if (port.peer.node < 0 || !is_switch_node(topology, port.peer.node)) continue;
        const auto peer = static_cast<std::size_t>(port.peer.node);
        if (subnet[peer] >= 0) continue;
        subnet[peer] = next;
        stack.push_back(peer);
      }
    }
    ++next;
  }
  return subnet;
}

std::vector<Subnet> split_subnets(const Topology& topology) {
  Cables cables(topology);
  cables.number_direct_cables();
  const auto count = static_cast<std::size_t>(cables.count());
  std::vector<Subnet> subnets(count);
  // By subnet and node of the whole topology, the node there.
  std::vector<std::vector<std::int32_t>> here(count, std::vector<std::int32_t>(topology.nodes().size(), -1));
  for (const NodeKind kind : {NodeKind::adapter, NodeKind::switch_device}) {
    for (std::size_t i = 0; i < topology.nodes().size(); ++i) {
      const auto node = static_cast<std::int32_t>(i);
      const TopologyNode& original = topology.node(node);
      if (original.kind != kind) continue;
      for (int p = 0; p <= original.port_count(); ++p) {
        const int subnet = p > 0 ? cables.subnet({node, p}) : cables.of_switch(node);
        if (subnet < 0) continue;
        std::int32_t& there = here[static_cast<std::size_t>(subnet)][i];
        if (there >= 0) continue;
        Subnet& into = subnets[static_cast<std::size_t>(subnet)];
        auto added = into.graph.add_node(kind, fmt::format("node{}", i), original.port_count());
        HAWSER_ASSERT(added);
        there = added.value();
        into.nodes.push_back(node);
        into.has_switch = subnet < cables.switched();
      }
    }
  }
  for (std::size_t s = 0; s < count; ++s) {
    for (const std::int32_t node : subnets[s].nodes) {
      for (int p = 1; p <= topology.node(node).port_count(); ++p) {
        if (cables.subnet({node, p}) != static_cast<int>(s)) continue;
        const PortName peer = topology.port({node, p}).peer;
        const auto end = [&](PortName port) {
          return PortName{here[s][static_cast<std::size_t>(port.node)], port.port};
        };
        const bool joined = static_cast<bool>(subnets[s].graph.connect(end({node, p}), end(peer)));
        HAWSER_ASSERT(joined);
      }
    }
    give_guids(topology, subnets[s]);
  }
  return subnets;
}

Result<> merge_tables(const Subnet& subnet, const RoutingTables& part, RoutingTables& whole) {
  constexpr unsigned step = 128;  // LIDs stay aligned for any LMC
  const unsigned shift = whole.top_lid() == 0 ? 0 : (whole.top_lid() / step + 1) * step;
  if (shift + part.top_lid() >= first_multicast_lid)
    return failure(ErrorKind::invalid_argument, "there are not enough LIDs for all subnets");
  for (std::size_t i = 0; i < subnet.nodes.size(); ++i) {
    const auto node = static_cast<std::int32_t>(i);
    const TopologyNode& here = subnet.graph.node(node);
    for (int p = 0; p <= here.port_count(); ++p) {
      const RoutingTables::PortAddress address = part.address({node, p});
      if (address.base == 0) continue;
      HAWSER_TRY(
          whole.set_address({subnet.nodes[i], p}, static_cast<Lid>(address.base + shift), address.lmc));
    }
  }
  for (std::size_t i = 0; i < subnet.nodes.size(); ++i) {
    const auto node = static_cast<std::int32_t>(i);
    if (!is_switch_node(subnet.graph, node)) continue;
    for (unsigned lid = 1; lid <= part.top_lid(); ++lid) {
      const std::uint8_t port = part.out_port(node, static_cast<Lid>(lid));
      if (port != no_port) whole.set_out_port(subnet.nodes[i], static_cast<Lid>(lid + shift), port);
    }
  }
  return {};
}

}  // namespace hawser::fabric
