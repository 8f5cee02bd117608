#include "fabric/topology/makers.h"

#include <algorithm>

#include "base/failure.h"
#include "fabric/topology/topology_text.h"

namespace hawser::fabric {
namespace {

constexpr int most_hosts = 16384;

Result<> check(const MakerOptions& options) {
  if (options.hosts < 1 || options.hosts > most_hosts) {
    return failure(ErrorKind::invalid_argument, "{} hosts: 1 to {} are possible", options.hosts, most_hosts);
  }
  if (options.rails < 1 || options.rails > 16) {
    return failure(ErrorKind::invalid_argument, "{} rails: 1 to 16 are possible", options.rails);
  }
  if (options.ports < 1 || options.ports > 4) {
    return failure(ErrorKind::invalid_argument, "{} ports per adapter: 1 to 4 are possible", options.ports);
  }
  return {};
}

// Builds, knowing that the names are new and the ports free.
class Builder {
 public:
  std::int32_t node(NodeKind kind, std::string name, int ports) {
    auto added = topology_.add_node(kind, std::move(name), ports);
    HAWSER_ASSERT(added);
    return added.value();
  }
  std::int32_t adapter(int host, int rail, int ports) {
    return node(NodeKind::adapter, fmt::format("n{}/hw{}", host, rail), ports);
  }
  void cable(std::int32_t a, int a_port, std::int32_t b, int b_port) {
    const bool joined = static_cast<bool>(topology_.connect({a, a_port}, {b, b_port}));
    HAWSER_ASSERT(joined);
  }
  Topology finish() {
    complete_guids(topology_);
    topology_.derive_hosts();
    return std::move(topology_);
  }

 private:
  Topology topology_;
};

}  // namespace

Result<Topology> make_back_to_back(const MakerOptions& options) {
  HAWSER_TRY(check(options));
  if (options.hosts != 2)
    return failure(ErrorKind::invalid_argument, "back-to-back joins 2 hosts, not {}", options.hosts);
  Builder builder;
  std::vector<std::int32_t> adapters;
  for (int host = 0; host < 2; ++host) {
    for (int rail = 0; rail < options.rails; ++rail)
      adapters.push_back(builder.adapter(host, rail, options.ports));
  }
  const auto rails = static_cast<std::size_t>(options.rails);
  for (std::size_t rail = 0; rail < rails; ++rail) {
    for (int port = 1; port <= options.ports; ++port)
      builder.cable(adapters[rail], port, adapters[rail + rails], port);
  }
  return builder.finish();
}

Result<Topology> make_single_switch(const MakerOptions& options) {
  HAWSER_TRY(check(options));
  const int needed = options.hosts * options.rails * options.ports;
  if (needed > 254)
    return failure(ErrorKind::invalid_argument, "{} adapter ports do not fit on one switch of 254", needed);
  Builder builder;
  const std::int32_t crossbar = builder.node(NodeKind::switch_device, "switch0", needed < 24 ? 24 : needed);
  int next = 1;
  for (int host = 0; host < options.hosts; ++host) {
    for (int rail = 0; rail < options.rails; ++rail) {
      const std::int32_t adapter = builder.adapter(host, rail, options.ports);
      for (int port = 1; port <= options.ports; ++port) builder.cable(adapter, port, crossbar, next++);
    }
  }
  return builder.finish();
}

Result<Topology> make_rail_switches(const MakerOptions& options) {
  HAWSER_TRY(check(options));
  const int needed = options.hosts * options.ports;
  if (needed > 254)
    return failure(ErrorKind::invalid_argument, "{} adapter ports do not fit on one switch of 254", needed);
  Builder builder;
  std::vector<std::int32_t> switches;
  for (int rail = 0; rail < options.rails; ++rail) {
    switches.push_back(
        builder.node(NodeKind::switch_device, fmt::format("switch{}", rail), needed < 24 ? 24 : needed));
  }
  for (int host = 0; host < options.hosts; ++host) {
    for (int rail = 0; rail < options.rails; ++rail) {
      const std::int32_t adapter = builder.adapter(host, rail, options.ports);
      for (int port = 1; port <= options.ports; ++port) {
        builder.cable(adapter, port, switches[static_cast<std::size_t>(rail)], host * options.ports + port);
      }
    }
  }
  return builder.finish();
}

Result<Topology> make_fat_tree(int leaves, int radix_half, int hosts) {
  if (leaves < 1 || radix_half < 1 || leaves > 254 || radix_half > 127) {
    return failure(ErrorKind::invalid_argument, "a fat tree of {} leaves of 2 x {} ports cannot be built",
                   leaves, radix_half);
  }
  if (hosts < 1 || hosts > leaves * radix_half) {
    return failure(ErrorKind::invalid_argument, "{} hosts: the fat tree has ports for 1 to {}", hosts,
                   leaves * radix_half);
  }
  Builder builder;
  std::vector<std::int32_t> leaf, adapters;
  for (int h = 0; h < hosts; ++h) adapters.push_back(builder.adapter(h, 0, 1));
  for (int l = 0; l < leaves; ++l) {
    leaf.push_back(builder.node(NodeKind::switch_device, fmt::format("LEAF{:02}", l), 2 * radix_half));
  }
  for (int h = 0; h < hosts; ++h) {
    builder.cable(adapters[static_cast<std::size_t>(h)], 1, leaf[static_cast<std::size_t>(h / radix_half)],
                  h % radix_half + 1);
  }
  for (int s = 0; s < radix_half; ++s) {
    const std::int32_t spine = builder.node(NodeKind::switch_device, fmt::format("SPINE{:02}", s),
                                            leaves < 2 * radix_half ? 2 * radix_half : leaves);
    for (int l = 0; l < leaves; ++l)
      builder.cable(leaf[static_cast<std::size_t>(l)], radix_half + 1 + s, spine, l + 1);
  }
  return builder.finish();
}

namespace {

// For each rail a tree of its own, of leaves of 2 * half ports.
Result<Topology> planes(const MakerOptions& options, int half, int leaves) {
  Builder builder;
  std::vector<std::int32_t> adapters;
  for (int host = 0; host < options.hosts; ++host)
    for (int rail = 0; rail < options.rails; ++rail) adapters.push_back(builder.adapter(host, rail, 1));
  for (int rail = 0; rail < options.rails; ++rail) {
    std::vector<std::int32_t> leaf;
    for (int l = 0; l < leaves; ++l)
      leaf.push_back(builder.node(NodeKind::switch_device, fmt::format("LEAF{}-{}", rail, l), 2 * half));
    for (int host = 0; host < options.hosts; ++host) {
      builder.cable(adapters[static_cast<std::size_t>(host * options.rails + rail)], 1,
                    leaf[static_cast<std::size_t>(host / half)], host % half + 1);
    }
    for (int s = 0; s < half; ++s) {
      const std::int32_t spine =
          builder.node(NodeKind::switch_device, fmt::format("SPINE{}-{}", rail, s), std::max(leaves, 2));
      for (int l = 0; l < leaves; ++l)
        builder.cable(leaf[static_cast<std::size_t>(l)], half + 1 + s, spine, l + 1);
    }
  }
  return builder.finish();
}

}  // namespace

// Of the smallest leaves that do.
Result<Topology> make_fat_tree_planes(const MakerOptions& options) {
  HAWSER_TRY(check(options));
  if (options.ports != 1) return failure(ErrorKind::invalid_argument, "fat-tree has one port per adapter");
  int half = 2;
  while (2 * half * half < options.hosts) ++half;
  return planes(options, half, (options.hosts + half - 1) / half);
}

Result<Topology> make_fat_tree_144(int hosts) { return make_fat_tree(12, 12, hosts); }

Result<Topology> make_fat_trees_144(const MakerOptions& options) {
  HAWSER_TRY(check(options));
  if (options.ports != 1)
    return failure(ErrorKind::invalid_argument, "fat-tree-144 has one port per adapter");
  if (options.rails == 1 || options.hosts > 144) return make_fat_tree_144(options.hosts);
  return planes(options, 12, 12);
}

bool is_maker(std::string_view name) {
  return name == "back-to-back" || name == "single-switch" || name == "two-switch" ||
         name == "fat-tree-144" || name == "fat-tree";
}

Result<Topology> make_topology(std::string_view name, const MakerOptions& options) {
  if (name == "back-to-back") return make_back_to_back(options);
  if (name == "single-switch") return make_single_switch(options);
  if (name == "two-switch") return make_rail_switches(options);
  if (name == "fat-tree") return make_fat_tree_planes(options);
  if (name == "fat-tree-144") return make_fat_trees_144(options);
  return failure(
      ErrorKind::invalid_argument,
      "there is no topology '{}': back-to-back, single-switch, two-switch, fat-tree, fat-tree-144 or a file",
      name);
}

}  // namespace hawser::fabric
