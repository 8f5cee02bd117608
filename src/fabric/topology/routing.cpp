#include "fabric/topology/routing.h"

#include <algorithm>
#include <deque>
#include <limits>

#include "base/failure.h"
#include "base/random.h"

namespace hawser::fabric {
namespace {

constexpr int unreachable = std::numeric_limits<int>::max();

bool is_switch(const Topology& topology, std::int32_t node) {
  return topology.node(node).kind == NodeKind::switch_device;
}

// Distance to the nearest adapter. Roots are the switches farthest from any adapter; ranks are counted from
// them. For a fat tree that makes spines 0 and leaves 1, whatever the file's order.
std::vector<int> breadth_first(const Topology& topology, const std::vector<std::int32_t>& from,
                               const UsableLink& usable) {
  std::vector<int> distance(topology.nodes().size(), unreachable);
  std::deque<std::int32_t> queue;
  for (const std::int32_t node : from) {
    distance[static_cast<std::size_t>(node)] = 0;
    queue.push_back(node);
  }
  while (!queue.empty()) {
    const std::int32_t node = queue.front();
    queue.pop_front();
    for (int p = 1; p <= topology.node(node).port_count(); ++p) {
      const std::int32_t next = topology.port({node, p}).peer.node;
      if (next < 0 || !usable({node, p}) || !is_switch(topology, next)) continue;
      int& reached = distance[static_cast<std::size_t>(next)];
      if (reached != unreachable) continue;
      reached = distance[static_cast<std::size_t>(node)] + 1;
      queue.push_back(next);
    }
  }
  return distance;
}

struct Load {
  std::int32_t all = 0;
  std::vector<std::int32_t> by_offset;
  std::int32_t of_offset(std::size_t k) const { return k < by_offset.size() ? by_offset[k] : 0; }
  void add(std::size_t k) {
    if (by_offset.size() <= k) by_offset.resize(k + 1);
    ++by_offset[k];
    ++all;
  }
};

class UpDownRouter {
 public:
  UpDownRouter(const Topology& topology, RoutingTables& tables, const UsableLink& usable,
               const RoutingOptions& options)
      : topology_(topology),
        tables_(tables),
        usable_(usable),
        shuffle_(options.shuffle_seed != 0),
        random_(options.shuffle_seed),
        load_(topology.nodes().size()) {
    for (std::size_t i = 0; i < load_.size(); ++i) load_[i].resize(topology.nodes()[i].ports.size());
  }

  void run() {
    rank();
    for (std::size_t i = 0; i < topology_.nodes().size(); ++i) {
      const auto node = static_cast<std::int32_t>(i);
      if (is_switch(topology_, node)) {
        route({node, 0});
      } else {
        for (int p = 1; p <= topology_.node(node).port_count(); ++p) route({node, p});
      }
    }
  }

 private:
  void rank() {
    std::vector<std::int32_t> adapters;
    for (std::size_t i = 0; i < topology_.nodes().size(); ++i) {
      if (topology_.nodes()[i].kind == NodeKind::adapter) adapters.push_back(static_cast<std::int32_t>(i));
    }
    const std::vector<int> depth = breadth_first(topology_, adapters, usable_);
    // Each connected part has roots of its own, so the farthest are sought part by part.
    rank_.assign(topology_.nodes().size(), unreachable);
    while (true) {
      std::int32_t seed = -1;
      for (std::size_t i = 0; i < rank_.size() && seed < 0; ++i) {
        if (rank_[i] == unreachable && is_switch(topology_, static_cast<std::int32_t>(i))) {
          seed = static_cast<std::int32_t>(i);
        }
      }
      if (seed < 0) return;
      rank_part(seed, depth);
    }
  }

  void rank_part(std::int32_t seed, const std::vector<int>& depth) {
    const std::vector<int> part = breadth_first(topology_, {seed}, usable_);
    int deepest = -1;
    for (std::size_t i = 0; i < part.size(); ++i) {
      if (part[i] != unreachable && depth[i] != unreachable) deepest = std::max(deepest, depth[i]);
    }
    std::vector<std::int32_t> roots;
    for (std::size_t i = 0; i < part.size(); ++i) {
      if (part[i] != unreachable && (deepest < 0 || depth[i] == deepest))
        roots.push_back(static_cast<std::int32_t>(i));
    }
    const std::vector<int> ranks = breadth_first(topology_, roots, usable_);
    for (std::size_t i = 0; i < part.size(); ++i) {
      if (part[i] != unreachable) rank_[i] = ranks[i];
    }
  }

  // Nearer to a root; equals are ordered by number, which keeps the order free of cycles.
  bool is_up(std::int32_t from, std::int32_t to) const {
    const int a = rank_[static_cast<std::size_t>(from)];
    const int b = rank_[static_cast<std::size_t>(to)];
    return b != a ? b < a : to < from;
  }

  // Fills down_ (hops over downward links only) and any_ (upward first, where no downward way exists).
  void measure(std::int32_t target) {
    down_.assign(topology_.nodes().size(), unreachable);
    down_[static_cast<std::size_t>(target)] = 0;
    std::deque<std::int32_t> queue{target};
    while (!queue.empty()) {
      const std::int32_t node = queue.front();
      queue.pop_front();
      for_neighbours(node, [&](int, std::int32_t next) {
        // Travelling, the step goes from `next` down to `node`.
        if (!is_up(node, next) || down_[static_cast<std::size_t>(next)] != unreachable) return;
        down_[static_cast<std::size_t>(next)] = down_[static_cast<std::size_t>(node)] + 1;
        queue.push_back(next);
      });
    }
    any_ = down_;
    // Upper switches first: a switch's way up is known once all above it are settled.
    for (const std::int32_t node : downward_order()) {
      int& best = any_[static_cast<std::size_t>(node)];
      if (best != unreachable) continue;
      for_neighbours(node, [&](int, std::int32_t next) {
        const int beyond = any_[static_cast<std::size_t>(next)];
        if (is_up(node, next) && beyond != unreachable) best = std::min(best, beyond + 1);
      });
    }
  }

  const std::vector<std::int32_t>& downward_order() {
    if (order_.empty()) {
      for (std::size_t i = 0; i < rank_.size(); ++i) {
        if (is_switch(topology_, static_cast<std::int32_t>(i)))
          order_.push_back(static_cast<std::int32_t>(i));
      }
      std::sort(order_.begin(), order_.end(), [this](std::int32_t a, std::int32_t b) { return is_up(b, a); });
    }
    return order_;
  }

  template <class Visit>
  void for_neighbours(std::int32_t node, Visit visit) const {
    for (int p = 1; p <= topology_.node(node).port_count(); ++p) {
      const std::int32_t next = topology_.port({node, p}).peer.node;
      if (next >= 0 && is_switch(topology_, next) && usable_({node, p})) visit(p, next);
    }
  }

  void route(PortName target) {
    const RoutingTables::PortAddress address = tables_.address(target);
    if (address.base == 0) return;
    const int lids = 1 << address.lmc;
    PortName attached = target;  // the switch port through which the target hangs on the subnet
    if (!is_switch(topology_, target.node)) attached = topology_.port(target).peer;
    const bool reachable =
        attached.node >= 0 && is_switch(topology_, attached.node) && (attached == target || usable_(target));
    if (reachable) measure(attached.node);
    for (const std::int32_t node : downward_order()) {
      used_ports_.clear();
      used_switches_.clear();
      for (int k = 0; k < lids; ++k) {
        const auto lid = static_cast<Lid>(address.base + k);
        if (!reachable) {
          tables_.set_out_port(node, lid, no_port);
        } else if (node == attached.node) {
          tables_.set_out_port(node, lid, static_cast<std::uint8_t>(attached.port));
        } else {
          tables_.set_out_port(node, lid, choose(node, static_cast<std::size_t>(k)));
        }
      }
    }
  }

  // The best next port of `node` for LID base + k of the measured target: first one that this target's other
  // LIDs do not use yet, then the one with the fewest LIDs of the same offset (programs that know one path
  // use offset 0), then with the fewest of all.
  std::uint8_t choose(std::int32_t node, std::size_t k) {
    const int here = any_[static_cast<std::size_t>(node)];
    if (here == unreachable) return no_port;
    const bool downward = down_[static_cast<std::size_t>(node)] != unreachable;
    int best = -1;
    std::int64_t best_cost = std::numeric_limits<std::int64_t>::max();
    for_neighbours(node, [&](int p, std::int32_t next) {
      const int beyond =
          downward ? down_[static_cast<std::size_t>(next)] : any_[static_cast<std::size_t>(next)];
      if (beyond == unreachable || beyond + 1 != here || is_up(node, next) == downward) return;
      const auto times = [](const auto& used, auto what) {
        return std::count(used.begin(), used.end(), what);
      };
      const Load& load = load_[static_cast<std::size_t>(node)][static_cast<std::size_t>(p)];
      const std::int64_t own = (times(used_switches_, next) << 50) + (times(used_ports_, p) << 42);
      const std::int64_t cost = own + (shuffle_ ? static_cast<std::int64_t>(random_.below(1 << 30))
                                                : (std::int64_t{load.of_offset(k)} << 20) + load.all);
      if (cost < best_cost) {
        best = p;
        best_cost = cost;
      }
    });
    if (best < 0) return no_port;
    used_ports_.push_back(best);
    used_switches_.push_back(topology_.port({node, best}).peer.node);
    load_[static_cast<std::size_t>(node)][static_cast<std::size_t>(best)].add(k);
    return static_cast<std::uint8_t>(best);
  }

  const Topology& topology_;
  RoutingTables& tables_;
  const UsableLink& usable_;
  bool shuffle_;
  Random random_;
  std::vector<std::vector<Load>> load_;  // LIDs sent through [switch][port]
  std::vector<int> rank_, down_, any_;
  std::vector<std::int32_t> order_;
  std::vector<int> used_ports_;
  std::vector<std::int32_t> used_switches_;
};

}  // namespace

Result<> RoutingTables::set_address(PortName port, Lid base, std::uint8_t lmc) {
  const unsigned count = 1u << lmc;
  if (lmc > 7 || base == 0 || base + count > first_multicast_lid) {
    return failure(ErrorKind::invalid_argument, "LID {} with LMC {} is not a unicast address", base, lmc);
  }
  if ((base & (count - 1)) != 0)
    return failure(ErrorKind::invalid_argument, "LID {} is not a multiple of {}", base, count);
  if (owner_.size() < base + count) owner_.resize(base + count);
  for (unsigned k = 0; k < count; ++k) {
    if (owner_[base + k].node >= 0 && owner_[base + k] != port) {
      return failure(ErrorKind::invalid_argument, "LID {} is assigned to two ports", base + k);
    }
  }
  for (unsigned k = 0; k < count; ++k) owner_[base + k] = port;
  base_[static_cast<std::size_t>(port.node)][static_cast<std::size_t>(port.port)] = {base, lmc};
  return {};
}

Result<> RoutingTables::move_address(PortName port, Lid base) {
  const PortAddress old = address(port);
  const auto release = [&](PortName now) {
    for (unsigned k = 0; old.base != 0 && k < 1u << old.lmc; ++k) owner_[old.base + k] = now;
  };
  release({});
  auto moved = set_address(port, base, old.lmc);
  if (!moved) release(port);
  return moved;
}

void RoutingTables::set_out_port(std::int32_t switch_node, Lid lid, std::uint8_t port) {
  auto& table = tables_[static_cast<std::size_t>(switch_node)];
  if (table.size() <= lid) table.resize(std::max<std::size_t>(lid + 1u, owner_.size()), no_port);
  table[lid] = port;
}

Result<RoutingTables> assign_lids(const Topology& topology, int lmc) {
  if (lmc < 0 || lmc > 7) return failure(ErrorKind::invalid_argument, "LMC {}: 0 to 7 are possible", lmc);
  RoutingTables tables(topology);
  const unsigned count = 1u << lmc;
  unsigned next = 1;
  for (std::size_t i = 0; i < topology.nodes().size(); ++i) {
    const auto node = static_cast<std::int32_t>(i);
    if (is_switch(topology, node)) {
      HAWSER_TRY(tables.set_address({node, 0}, static_cast<Lid>(next), 0));
      ++next;
      continue;
    }
    for (int p = 1; p <= topology.node(node).port_count(); ++p) {
      next = (next + count - 1) / count * count;
      if (next + count > first_multicast_lid) {
        return failure(ErrorKind::invalid_argument, "there are not enough LIDs for {} nodes with LMC {}",
                       topology.nodes().size(), lmc);
      }
      HAWSER_TRY(tables.set_address({node, p}, static_cast<Lid>(next), static_cast<std::uint8_t>(lmc)));
      next += count;
    }
  }
  return tables;
}

void route_up_down(const Topology& topology, RoutingTables& tables, const UsableLink& usable,
                   const RoutingOptions& options) {
  UpDownRouter(topology, tables, usable, options).run();
}

Result<RoutingTables> build_routes(const Topology& topology, int lmc, const RoutingOptions& options) {
  auto tables = assign_lids(topology, lmc);
  if (!tables) return tables.take_error();
  route_up_down(
      topology, tables.value(), [](PortName) { return true; }, options);
  return tables;
}

}  // namespace hawser::fabric
