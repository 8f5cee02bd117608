#include "fabric/topology/topology.h"

#include <algorithm>

#include "base/failure.h"
#include "base/quantity.h"

namespace hawser::fabric {
namespace {

// The number behind `prefix`, if the text is just that.
std::optional<std::uint64_t> number_behind(std::string_view text, std::string_view prefix) {
  if (!text.starts_with(prefix) || text.size() == prefix.size()) return std::nullopt;
  const std::string_view digits = text.substr(prefix.size());
  if (digits.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
  auto number = parse_count(digits);
  if (!number) return std::nullopt;
  return number.value();
}

// The host that an adapter's name or description gives away; empty when neither does.
std::string host_of(const TopologyNode& node) {
  const std::size_t slash = node.name.rfind('/');
  if (slash != std::string::npos && number_behind(std::string_view(node.name).substr(slash + 1), "hw")) {
    return node.name.substr(0, slash);
  }
  const std::size_t space = node.description.find(' ');
  return space == std::string::npos ? std::string() : node.description.substr(0, space);
}

}  // namespace

Result<std::int32_t> Topology::add_node(NodeKind kind, std::string name, int ports) {
  if (ports < 1 || ports > 254) {
    return failure(ErrorKind::invalid_argument, "'{}' has {} ports; a node can have 1 to 254", name, ports);
  }
  const auto index = static_cast<std::int32_t>(nodes_.size());
  if (!by_name_.emplace(name, index).second) {
    return failure(ErrorKind::invalid_argument, "'{}' is described twice", name);
  }
  TopologyNode node;
  node.kind = kind;
  node.description = name;
  node.name = std::move(name);
  node.ports.resize(static_cast<std::size_t>(ports) + 1);
  nodes_.push_back(std::move(node));
  return index;
}

Result<> Topology::connect(PortName a, PortName b) {
  for (const auto& [near, far] : {std::pair{a, b}, std::pair{b, a}}) {
    const TopologyNode& end = node(near.node);
    if (near.port < 1 || near.port > end.port_count()) {
      return failure(ErrorKind::invalid_argument, "'{}' has no port {}, only 1 to {}", end.name, near.port,
                     end.port_count());
    }
    const PortName peer = port(near).peer;
    if (peer.node >= 0 && peer != far) {
      return failure(ErrorKind::invalid_argument,
                     "port {} of '{}' is connected to port {} of '{}' and to port {} of '{}'", near.port,
                     end.name, peer.port, node(peer.node).name, far.port, node(far.node).name);
    }
  }
  if (a == b)
    return failure(ErrorKind::invalid_argument, "port {} of '{}' is connected to itself", a.port,
                   node(a.node).name);
  port(a).peer = b;
  port(b).peer = a;
  return {};
}

void Topology::derive_hosts() {
  hosts_.clear();
  std::unordered_map<std::string, std::int32_t> known;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    TopologyNode& node = nodes_[i];
    if (node.kind != NodeKind::adapter) continue;
    std::string name = host_of(node);
    if (name.empty()) name = node.description;
    const auto [entry, added] = known.emplace(name, static_cast<std::int32_t>(hosts_.size()));
    if (added) hosts_.push_back({name, {}});
    node.host = entry->second;
    auto& adapters = hosts_[static_cast<std::size_t>(entry->second)].adapters;
    node.rail = static_cast<std::int32_t>(adapters.size());
    adapters.push_back(static_cast<std::int32_t>(i));
  }
}

Result<> Topology::set_host(const std::string& host, const std::vector<std::string>& adapters) {
  std::vector<std::int32_t> chosen;
  for (const std::string& name : adapters) {
    const auto index = find_node(name);
    if (!index || node(*index).kind != NodeKind::adapter) {
      return failure(ErrorKind::invalid_argument, "host {}: there is no adapter '{}'", host, name);
    }
    if (std::find(chosen.begin(), chosen.end(), *index) != chosen.end()) {
      return failure(ErrorKind::invalid_argument, "host {}: adapter '{}' is named twice", host, name);
    }
    chosen.push_back(*index);
  }
  for (TopologyHost& other : hosts_) {
    std::erase_if(other.adapters,
                  [&](std::int32_t a) { return std::find(chosen.begin(), chosen.end(), a) != chosen.end(); });
  }
  std::erase_if(hosts_, [](const TopologyHost& h) { return h.adapters.empty(); });
  std::erase_if(hosts_, [&](const TopologyHost& h) { return h.name == host; });
  hosts_.push_back({host, std::move(chosen)});
  for (TopologyNode& node : nodes_) node.host = -1;
  for (std::size_t h = 0; h < hosts_.size(); ++h) {
    for (std::size_t r = 0; r < hosts_[h].adapters.size(); ++r) {
      TopologyNode& adapter = node(hosts_[h].adapters[r]);
      adapter.host = static_cast<std::int32_t>(h);
      adapter.rail = static_cast<std::int32_t>(r);
    }
  }
  return {};
}

std::optional<std::int32_t> Topology::find_node(std::string_view name) const {
  if (const auto entry = by_name_.find(std::string(name)); entry != by_name_.end()) return entry->second;
  const std::size_t slash = name.rfind('/');
  if (slash != std::string_view::npos) {
    const auto rail = number_behind(name.substr(slash + 1), "hw");
    const auto host = find_host(name.substr(0, slash));
    if (rail && host) {
      const auto& adapters = hosts_[static_cast<std::size_t>(*host)].adapters;
      if (*rail < adapters.size()) return adapters[*rail];
    }
  }
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].description == name) return static_cast<std::int32_t>(i);
  }
  return std::nullopt;
}

std::optional<std::int32_t> Topology::find_guid(std::uint64_t guid) const {
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].guid == guid) return static_cast<std::int32_t>(i);
    for (const TopologyPort& port : nodes_[i].ports) {
      if (port.guid == guid && guid != 0) return static_cast<std::int32_t>(i);
    }
  }
  return std::nullopt;
}

std::optional<std::int32_t> Topology::find_host(std::string_view name) const {
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    if (hosts_[i].name == name) return static_cast<std::int32_t>(i);
  }
  const auto number = number_behind(name, "n");
  if (number && *number < hosts_.size()) return static_cast<std::int32_t>(*number);
  return std::nullopt;
}

Result<PortName> Topology::find_port(std::string_view text) const {
  if (const auto whole = find_node(text)) {
    if (node(*whole).kind == NodeKind::adapter) return PortName{*whole, 1};
    return failure(ErrorKind::invalid_argument, "'{}' is a switch: name a port of it, such as {}:1", text,
                   text);
  }
  const std::size_t colon = text.rfind(':');
  if (colon != std::string_view::npos) {
    const auto index = find_node(text.substr(0, colon));
    if (!index) return failure(ErrorKind::invalid_argument, "there is no node '{}'", text.substr(0, colon));
    auto number = parse_count(text.substr(colon + 1));
    if (!number || number.value() < 1 || number.value() >= node(*index).ports.size()) {
      return failure(ErrorKind::invalid_argument, "'{}' has no port '{}', only 1 to {}", node(*index).name,
                     text.substr(colon + 1), node(*index).port_count());
    }
    return PortName{*index, static_cast<std::int32_t>(number.value())};
  }
  return failure(ErrorKind::invalid_argument, "there is no node '{}'", text);
}

std::string Topology::port_text(PortName name) const {
  const TopologyNode& end = node(name.node);
  std::string text = end.kind == NodeKind::adapter && end.host >= 0
                         ? fmt::format("{}/hw{}", hosts_[static_cast<std::size_t>(end.host)].name, end.rail)
                         : end.description;
  if (end.kind == NodeKind::adapter && end.port_count() == 1) return text;
  return fmt::format("{}:{}", text, name.port);
}

}  // namespace hawser::fabric
