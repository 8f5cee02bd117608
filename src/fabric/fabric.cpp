#include "fabric/fabric.h"

#include <algorithm>

#include "base/failure.h"
#include "fabric/topology/subnets.h"

namespace hawser::fabric {

class Fabric::FaultEvent final : public Event {
 public:
  FaultEvent(Fabric& fabric, Fault fault) : fabric_(fabric), fault_(std::move(fault)) {}
  void fire(Nanoseconds now) override {
    if (auto applied = fabric_.apply(fault_); !applied) {
      const std::string refusal = fmt::format("{}: refused: {}", fault_.text, applied.error().text);
      fabric_.trace_.log(now, refusal);
      if (fabric_.refused_fault_.empty()) fabric_.refused_fault_ = refusal;
    }
  }

 private:
  Fabric& fabric_;
  Fault fault_;
};

Fabric::Fabric(EventQueue& events, DmaPort& dma, Topology topology, RoutingTables tables,
               Parameters parameters)
    : events_(events),
      dma_(dma),
      topology_(std::move(topology)),
      tables_(std::move(tables)),
      parameters_(std::move(parameters)),
      random_(parameters_.seed) {
  network_ = std::make_unique<Network>(events_, topology_, tables_, parameters_, random_, trace_);
  manager_ = std::make_unique<SubnetManager>(topology_, tables_, parameters_, *network_);
  const FabricServices services{events_,   *network_, dma_,  random_,         trace_,   parameters_,
                                topology_, tables_,   gids_, multicast_lids_, *manager_};
  for (std::size_t i = 0; i < topology_.nodes().size(); ++i) {
    const auto node = static_cast<std::int32_t>(i);
    const bool is_adapter = topology_.nodes()[i].kind == NodeKind::adapter;
    adapters_.push_back(is_adapter ? std::make_unique<Adapter>(services, node) : nullptr);
  }
  set_gid_prefixes();
}

Fabric::~Fabric() = default;

// Subnets that no cable joins get prefixes of their own, in the order of their first switch.
void Fabric::set_gid_prefixes() {
  const std::vector<int> subnet = switch_subnets(topology_);
  for (auto& adapter : adapters_) {
    if (adapter == nullptr) continue;
    for (int p = 1; p <= adapter->port_count(); ++p) {
      const PortName peer = topology_.port({adapter->node(), p}).peer;
      // Back to back, every cable is a subnet, and rail i joins the rails i.
      int prefix = topology_.node(adapter->node()).rail;
      if (peer.node >= 0 && adapters_[static_cast<std::size_t>(peer.node)] == nullptr) {
        prefix = subnet[static_cast<std::size_t>(peer.node)];
      }
      GidEntry entry = adapter->port(p).gids()[0];
      entry.gid[6] = static_cast<std::uint8_t>(prefix >> 8);
      entry.gid[7] = static_cast<std::uint8_t>(prefix);
      adapter->port(p).set_gid(0, entry);
    }
  }
}

std::uint64_t Fabric::packets_off_level() const {
  std::uint64_t sum = 0;
  for (const auto& each : adapters_)
    for (int p = 1; each != nullptr && p <= each->port_count(); ++p)
      sum += each->port(p).counters().off_level;
  return sum;
}

Adapter* Fabric::adapter(std::int32_t host, std::int32_t rail) {
  if (host < 0 || static_cast<std::size_t>(host) >= topology_.hosts().size()) return nullptr;
  const auto& adapters = topology_.hosts()[static_cast<std::size_t>(host)].adapters;
  if (rail < 0 || static_cast<std::size_t>(rail) >= adapters.size()) return nullptr;
  return adapter(adapters[static_cast<std::size_t>(rail)]);
}

Adapter* Fabric::adapter(std::string_view name) {
  const auto node = topology_.find_node(name);
  return node ? adapter(*node) : nullptr;
}

Result<> Fabric::inject(std::string_view command) {
  auto fault = parse_fault(command, topology_);
  if (!fault) return fault.take_error();
  return apply(fault.value());
}

Result<> Fabric::schedule(std::string_view text, std::string_view file) {
  auto schedule = parse_schedule(text, file, topology_);
  if (!schedule) return schedule.take_error();
  std::erase_if(faults_, [](const auto& event) { return !event->scheduled(); });
  for (ScheduledFault& each : schedule.value()) {
    faults_.push_back(std::make_unique<FaultEvent>(*this, std::move(each.fault)));
    events_.schedule(*faults_.back(), events_.now() + each.after);
  }
  return {};
}

std::size_t Fabric::pending_faults() const {
  return static_cast<std::size_t>(
      std::count_if(faults_.begin(), faults_.end(), [](const auto& event) { return event->scheduled(); }));
}

Result<> Fabric::apply(const Fault& fault) {
  Adapter* const at = adapter(fault.port.node < 0 ? 0 : fault.port.node);
  switch (fault.kind) {
    case FaultKind::link_up:
    case FaultKind::link_rate:
    case FaultKind::link_loss:
    case FaultKind::link_black_hole:
    case FaultKind::link_delay:
    case FaultKind::link_clear:
      HAWSER_TRY(apply_to_link(fault));
      break;
    case FaultKind::switch_alive:
      network_->set_node_alive(fault.port.node, fault.on);
      cables_changed();
      break;
    case FaultKind::adapter_alive:
      at->set_dead(!fault.on);
      cables_changed();
      break;
    case FaultKind::adapter_dying:
      at->set_dying();
      break;
    case FaultKind::qp_kill:
    case FaultKind::qp_hang:
      HAWSER_TRY(apply_to_queue_pairs(fault));
      break;
    case FaultKind::lose_acks:
      at->port(fault.port.port).lose_acknowledges = static_cast<int>(fault.number);
      break;
    case FaultKind::corrupt_payload:
      at->port(fault.port.port).corrupt_payloads = static_cast<int>(fault.number);
      break;
    case FaultKind::gid_move:
      at->port(fault.port.port).move_gid(fault.from, fault.to);
      break;
    case FaultKind::gid_set:
      if (!at->port(fault.port.port).change_gid(fault.to, fault.gid))
        return failure(ErrorKind::invalid_argument, "'{}': another port has this GID", fault.text);
      break;
    case FaultKind::lid_change:
      HAWSER_TRY(change_lid(fault));
      break;
    case FaultKind::reroute:
      reroute();
      break;
    case FaultKind::table_entry:
      tables_.set_out_port(fault.port.node, fault.lid, fault.out_port == 0 ? no_port : fault.out_port);
      network_->tables_changed();
      break;
    case FaultKind::sm_change:
      manager_->move();
      for (auto& each : adapters_) {
        for (int p = 1; each != nullptr && p <= each->port_count(); ++p) {
          each->broadcast({.type = AsyncEventType::sm_change, .port = p});
          each->broadcast({.type = AsyncEventType::client_reregister, .port = p});
        }
      }
      break;
  }
  trace_.note(TraceKind::fault, events_.now(), static_cast<std::uint64_t>(fault.kind),
              static_cast<std::uint64_t>(fault.port.node));
  trace_.log(events_.now(), fault.text);
  return {};
}

double Fabric::configured_rate(const PortName& port) const {
  for (const LinkParameters& link : parameters_.links)
    if (link.rate && (link.port == port || link.port == topology_.port(port).peer)) return *link.rate;
  return parameters_.link_rate;
}

Result<> Fabric::apply_to_link(const Fault& fault) {
  const PortIndex port = network_->index(fault.port);
  const PortIndex peer = network_->index(topology_.port(fault.port).peer);
  const double configured = configured_rate(fault.port);
  switch (fault.kind) {
    case FaultKind::link_up:
      network_->set_cable(port, fault.on);
      cables_changed();
      return {};
    case FaultKind::link_rate:
      if (fault.share < 0) {
        network_->set_rate(port, fault.rate);
        return {};
      }
      if (configured == 0 && fault.share < 1) {
        return failure(ErrorKind::invalid_argument,
                       "'{}': the link's rate is unlimited; name a rate instead of a share", fault.text);
      }
      network_->set_rate(port, configured * fault.share);
      return {};
    case FaultKind::link_loss:
      network_->set_loss(port, fault.share);
      return {};
    case FaultKind::link_black_hole:
      if (fault.outward) network_->set_black_hole(port, true);
      if (fault.inward) network_->set_black_hole(peer, true);
      return {};
    case FaultKind::link_delay:
      network_->set_delay(port, fault.delay);
      return {};
    case FaultKind::link_clear:
      network_->set_loss(port, 0);
      network_->set_delay(port, 0);
      network_->set_black_hole(port, false);
      network_->set_black_hole(peer, false);
      network_->set_rate(port, configured);
      return {};
    case FaultKind::switch_alive:
    case FaultKind::adapter_alive:
    case FaultKind::adapter_dying:
    case FaultKind::qp_kill:
    case FaultKind::qp_hang:
    case FaultKind::lose_acks:
    case FaultKind::corrupt_payload:
    case FaultKind::gid_move:
    case FaultKind::gid_set:
    case FaultKind::lid_change:
    case FaultKind::reroute:
    case FaultKind::table_entry:
    case FaultKind::sm_change:
      break;
  }
  HAWSER_UNREACHABLE();
}

Result<> Fabric::apply_to_queue_pairs(const Fault& fault) {
  bool found = false;
  for (const auto& [context_number, context] : adapter(fault.port.node)->contexts()) {
    for (const auto& [number, queue_pair] : context->queue_pairs()) {
      if (fault.number >= 0 && fault.number != number) continue;
      if (fault.number == Fault::any_qp && (found || queue_pair->state() != QpState::rts)) continue;
      found = true;
      if (fault.kind == FaultKind::qp_kill) {
        queue_pair->kill();
      } else {
        queue_pair->requester().hang_next();
      }
    }
  }
  if (found) return {};
  return failure(ErrorKind::invalid_argument, "'{}': {} has no such queue pair", fault.text,
                 topology_.port_text(fault.port));
}

Result<> Fabric::change_lid(const Fault& fault) {
  const RoutingTables::PortAddress old = tables_.address(fault.port);
  HAWSER_TRY(tables_.move_address(fault.port, fault.lid));
  if (old.base != fault.lid) {
    reroute();
    adapter(fault.port.node)->broadcast({.type = AsyncEventType::lid_change, .port = fault.port.port});
  }
  return {};
}

void Fabric::cables_changed() {
  for (auto& each : adapters_) {
    for (int p = 1; each != nullptr && p <= each->port_count(); ++p) each->port(p).refresh();
  }
  network_->tables_changed();
  if (parameters_.reroute_delay > 0)
    events_.schedule(reroute_event_, events_.now() + parameters_.reroute_delay);
}

void Fabric::on_reroute(Nanoseconds now) {
  reroute();
  trace_.log(now, "tables rerouted");
}

void Fabric::reroute() {
  route_up_down(topology_, tables_, [this](PortName port) { return network_->usable(network_->index(port)); },
                {.shuffle_seed = parameters_.shuffle_seed});
  network_->tables_changed();
}

void Fabric::check_invariants() const {
  network_->check_invariants();
  for (const auto& each : adapters_) {
    if (each != nullptr) each->check_invariants();
  }
}

}  // namespace hawser::fabric
