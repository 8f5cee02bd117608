// Topology: the graph of adapters, switches and cables, as a subnet discovery shows it. Only structure and
// names: no addresses (routing.h), no rates (parameters.h), no time (network.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"

namespace hawser::fabric {

enum class NodeKind : std::uint8_t {
  adapter,        // a channel adapter: ports 1..n, each with addresses of its own
  switch_device,  // a crossbar: ports 1..n, and port 0 inside, to which its own address belongs
};

// One end of a cable. Ports are numbered from 1, as printed on the device.
struct PortName {
  std::int32_t node = -1;  // index in Topology::nodes(); -1: nothing is plugged in
  std::int32_t port = 0;
  friend bool operator==(const PortName&, const PortName&) = default;
};

struct TopologyPort {
  PortName peer;
  std::uint64_t guid = 0;  // adapters: one per port; switches: the node's
  int width = 4;           // lanes of the cable: 1, 4, 8, 12
  std::string speed;       // SDR, DDR, QDR, FDR, EDR, ...; empty when the file does not say
};

struct TopologyNode {
  NodeKind kind = NodeKind::adapter;
  std::string name;         // unique: the word in quotes that starts a record
  std::string description;  // what a person calls it; the name when the file has no comment
  std::uint64_t guid = 0;
  std::vector<TopologyPort> ports;  // index 0 is the inner port of a switch, unused in an adapter
  std::int32_t host = -1;           // adapters: index in Topology::hosts()
  std::int32_t rail = 0;            // adapters: which of its host's, from 0

  int port_count() const { return static_cast<int>(ports.size()) - 1; }
};

struct TopologyHost {
  std::string name;
  std::vector<std::int32_t> adapters;  // node indices; rail i is entry i
};

class Topology {
 public:
  // The name must be new and 1 <= ports <= 254.
  Result<std::int32_t> add_node(NodeKind kind, std::string name, int ports);
  // Both ports must exist and be free, or be connected to each other already.
  Result<> connect(PortName a, PortName b);
  // Gives every adapter to a host: by `host/hwN` in its name, by the first word of its description ("n0
  // HCA-1"), or else a host of its own. Call once when all nodes are there; forgets earlier hosts.
  void derive_hosts();
  // Puts the named adapters on a host, as rails in this order. They leave the hosts they were on.
  Result<> set_host(const std::string& host, const std::vector<std::string>& adapters);

  const std::vector<TopologyNode>& nodes() const { return nodes_; }
  TopologyNode& node(std::int32_t index) { return nodes_[static_cast<std::size_t>(index)]; }
  const TopologyNode& node(std::int32_t index) const { return nodes_[static_cast<std::size_t>(index)]; }
  const TopologyPort& port(PortName name) const {
    return node(name.node).ports[static_cast<std::size_t>(name.port)];
  }
  TopologyPort& port(PortName name) { return node(name.node).ports[static_cast<std::size_t>(name.port)]; }
  const std::vector<TopologyHost>& hosts() const { return hosts_; }

  // By unique name, by description, or as host/hwN.
  std::optional<std::int32_t> find_node(std::string_view name) const;
  std::optional<std::int32_t> find_guid(std::uint64_t guid) const;  // a node's or a port's
  // By name, or as nI for the I-th host.
  std::optional<std::int32_t> find_host(std::string_view name) const;
  // "NODE" (port 1) or "NODE:PORT". The error says what is unknown.
  Result<PortName> find_port(std::string_view text) const;
  // What a person calls the port, such that find_port finds it: "n0/hw0", "LEAF03:13".
  std::string port_text(PortName name) const;

 private:
  std::vector<TopologyNode> nodes_;
  std::vector<TopologyHost> hosts_;
  std::unordered_map<std::string, std::int32_t> by_name_;
};

}  // namespace hawser::fabric
