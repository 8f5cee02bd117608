// Fabric: a complete InfiniBand network: topology, addresses, switches, adapters, faults. It is the interface
// of this room.
//
// A fabric lives on an EventQueue. The simulator fires the events in virtual time as fast as possible. The
// emulator fires the events that are due (fire_until) before and between calls, and sleeps until next_time().
// Everything runs on one thread. The same topology, parameters, seed and calls give the same events and the
// same trace().hash().
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/event_queue.h"
#include "base/random.h"
#include "base/result.h"
#include "fabric/adapter/adapter.h"
#include "fabric/fault/fault.h"
#include "fabric/network/network.h"
#include "fabric/parameters.h"
#include "fabric/subnet_manager.h"
#include "fabric/topology/routing.h"
#include "fabric/topology/topology.h"
#include "fabric/trace.h"

namespace hawser::fabric {

class Fabric {
 public:
  // `events` and `dma` must outlive the fabric. The tables must be of this topology (build_routes,
  // load_opensm_dumps).
  Fabric(EventQueue& events, DmaPort& dma, Topology topology, RoutingTables tables, Parameters parameters);
  ~Fabric();

  const Topology& topology() const { return topology_; }
  const RoutingTables& tables() const { return tables_; }
  const Parameters& parameters() const { return parameters_; }
  // Of the port's link by the parameters, whatever faults have made of it: what its adapter says.
  double configured_rate(const PortName& port) const;
  EventQueue& events() { return events_; }
  Network& network() { return *network_; }
  const Network& network() const { return *network_; }
  const Trace& trace() const { return trace_; }
  void listen(Trace::Listener* listener) { trace_.listen(listener); }

  // By node index; null when the node is a switch.
  Adapter* adapter(std::int32_t node) { return adapters_[static_cast<std::size_t>(node)].get(); }
  // By host and rail; null when there is none.
  Adapter* adapter(std::int32_t host, std::int32_t rail);
  Adapter* adapter(std::string_view name);  // "n0/hw1"

  // Injects faults now, or later at their times. Faults are logged with their time in trace().lines().
  Result<> inject(std::string_view command);
  Result<> apply(const Fault& fault);
  Result<> schedule(std::string_view text, std::string_view file);
  // Scheduled faults that have not happened yet.
  std::size_t pending_faults() const;
  // The first fault of a schedule that was refused when it was due, and why; empty if none was.
  const std::string& refused_fault() const { return refused_fault_; }

  const SubnetManager& manager() const { return *manager_; }
  // Packets that all adapters have sent on another service level than the path record of their way says.
  std::uint64_t packets_off_level() const;

  // Has the built-in router make new tables that avoid everything that is down.
  void reroute();

  // Asserts the invariants of network and adapters (no packet or credit is lost). Call between events.
  void check_invariants() const;
  // No packet is in the network and all credits are back (true shortly after the last event).
  bool quiescent() const { return network_->quiescent(events_.now()); }

 private:
  class FaultEvent;

  void cables_changed();
  Result<> apply_to_link(const Fault& fault);
  Result<> apply_to_queue_pairs(const Fault& fault);
  Result<> change_lid(const Fault& fault);
  void on_reroute(Nanoseconds now);
  void set_gid_prefixes();

  EventQueue& events_;
  DmaPort& dma_;
  Topology topology_;
  RoutingTables tables_;
  Parameters parameters_;
  Random random_;
  Trace trace_;
  std::map<GidEntry, PortName> gids_;
  std::map<Gid, Lid> multicast_lids_;
  std::unique_ptr<Network> network_;
  std::vector<std::unique_ptr<Adapter>> adapters_;  // by node; null for switches
  std::unique_ptr<SubnetManager> manager_;
  std::vector<std::unique_ptr<FaultEvent>> faults_;
  std::string refused_fault_;
  MemberEvent<Fabric, &Fabric::on_reroute> reroute_event_{*this};
};

}  // namespace hawser::fabric
