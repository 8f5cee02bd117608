// Addresses and forwarding tables of a subnet: which port owns a LID, and by which port each switch sends
// it on. They come from OpenSM's dumps (opensm_dumps.h) or from the up/down router here.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/result.h"
#include "fabric/topology/topology.h"

namespace hawser::fabric {

using Lid = std::uint16_t;

inline constexpr Lid first_multicast_lid = 0xc000;  // unicast LIDs are 1 to 0xbfff
inline constexpr std::uint8_t no_port = 255;        // what a forwarding table says of an unknown LID

class RoutingTables {
 public:
  RoutingTables() = default;
  explicit RoutingTables(const Topology& topology)
      : base_(topology.nodes().size()), tables_(topology.nodes().size()) {
    for (std::size_t i = 0; i < base_.size(); ++i) base_[i].resize(topology.nodes()[i].ports.size());
  }

  struct PortAddress {
    Lid base = 0;  // 0: the port has no address, because no subnet manager reached it
    std::uint8_t lmc = 0;
  };

  // A switch's own address belongs to its port 0.
  PortAddress address(PortName port) const {
    return base_[static_cast<std::size_t>(port.node)][static_cast<std::size_t>(port.port)];
  }
  // Fails when the LIDs are taken, not unicast, or not aligned to 2^lmc.
  Result<> set_address(PortName port, Lid base, std::uint8_t lmc);
  // Another base LID for the same port; the old ones belong to nobody then.
  Result<> move_address(PortName port, Lid base);
  // node -1 when nobody has this LID.
  PortName owner(Lid lid) const { return lid < owner_.size() ? owner_[lid] : PortName{}; }
  Lid top_lid() const { return static_cast<Lid>(owner_.empty() ? 0 : owner_.size() - 1); }

  std::uint8_t out_port(std::int32_t switch_node, Lid lid) const {
    const auto& table = tables_[static_cast<std::size_t>(switch_node)];
    return lid < table.size() ? table[lid] : no_port;
  }
  void set_out_port(std::int32_t switch_node, Lid lid, std::uint8_t port);

 private:
  std::vector<std::vector<PortAddress>> base_;     // [node][port]
  std::vector<std::vector<std::uint8_t>> tables_;  // [switch][lid]
  std::vector<PortName> owner_;                    // [lid]
};

// The service level of the way from a port, by its index in the network, to a LID, where a subnet has so many
// levels: a fixed draw, which like that of OpenSM's dfsssp differs by source, destination and direction.
constexpr std::uint8_t path_service_level(std::uint32_t source_port, Lid destination, int levels) {
  const std::uint32_t mixed = (source_port * 0x9E3779B1u ^ destination) * 0x85EBCA6Bu;
  return static_cast<std::uint8_t>((mixed >> 16) % static_cast<std::uint32_t>(levels));
}

// True for a cable that may be used; the router is asked again when cables fail.
using UsableLink = std::function<bool(PortName)>;

// Gives LIDs (switches one, adapter ports 2^lmc) in the order of the nodes; 0 <= lmc <= 7.
Result<RoutingTables> assign_lids(const Topology& topology, int lmc);

struct RoutingOptions {
  // 0: every link gets about the same number of LIDs. Otherwise each choice among equal ways is drawn with
  // this seed, as by a subnet manager that does not count: some links then carry several flows and others
  // none (V07 figure 3.5).
  std::uint64_t shuffle_seed = 0;
};

// Fills the tables: shortest paths that go up towards the spine and then only down, so that no cycle of
// waiting can arise; the LIDs of one port over different switches as far as there are any. Deterministic.
void route_up_down(const Topology& topology, RoutingTables& tables, const UsableLink& usable,
                   const RoutingOptions& options = {});

// assign_lids, then route_up_down over all links.
Result<RoutingTables> build_routes(const Topology& topology, int lmc, const RoutingOptions& options = {});

}  // namespace hawser::fabric
