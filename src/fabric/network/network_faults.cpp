// What faults do to the network, and the checks of its conservation laws.
#include "fabric/network/network.h"

namespace hawser::fabric {

void Network::refresh(Wire& wire) {
  if (wire.to == no_port_index) return;
  const bool up = wire.cable_up && alive_[static_cast<std::size_t>(names_[wire.self].node)] &&
                  alive_[static_cast<std::size_t>(names_[wire.to].node)];
  if (up == wire.up) return;
  wire.up = up;
  if (up) {
    pump(wire);
  } else {
    ++wire.epoch;  // what is on the cable is lost
    release_train(wire);
    drop_waiting(wire);
  }
}

// A switch discards what waits for a port that is down.
void Network::drop_waiting(Wire& wire) {
  for (Lane& lane : wire.lanes) {
    // Discarding presents the next packet, which finds the wire down and is discarded in turn; it never
    // comes back into this list.
    while (!lane.waiting.empty()) {
      InputQueue& queue = *lane.waiting.front();
      lane.waiting.pop_front();
      lane.waiting_bytes -= queue.fifo.front()->wire_bytes;
      if (--queue.unstarted == 0) {
        Packet& packet = take_front(queue);
        ++wire.counters.dropped;
        trace_.note(TraceKind::packet_dropped, events_.now(), packet.psn, 1);
        free(packet);
      }
      output_gone(queue);
    }
  }
}

void Network::set_cable(PortIndex port, bool up) {
  Wire& wire = wires_[port];
  if (wire.to == no_port_index) return;
  wire.cable_up = wires_[wire.to].cable_up = up;
  refresh(wire);
  refresh(wires_[wire.to]);
}

void Network::set_node_alive(std::int32_t node, bool alive) {
  alive_[static_cast<std::size_t>(node)] = alive;
  for (int p = 1; p <= topology_.node(node).port_count(); ++p) {
    Wire& wire = wires_[index({node, p})];
    if (wire.to == no_port_index) continue;
    refresh(wire);
    refresh(wires_[wire.to]);
  }
}

void Network::set_rate(PortIndex port, double rate) {
  for (const PortIndex end : {port, wires_[port].to}) {
    if (end == no_port_index) continue;
    wires_[end].rate = rate;
    wires_[end].link.set_rate(rate);
    fit_buffer(wires_[end]);
  }
  update_fast();
}

void Network::set_loss(PortIndex port, double share) {
  for (const PortIndex end : {port, wires_[port].to}) {
    if (end != no_port_index) wires_[end].loss = share;
  }
}

void Network::set_black_hole(PortIndex out, bool on) { wires_[out].black_hole = on; }

void Network::set_delay(PortIndex port, Nanoseconds extra) {
  for (const PortIndex end : {port, wires_[port].to}) {
    if (end == no_port_index) continue;
    wires_[end].extra = extra;
    fit_buffer(wires_[end]);
  }
}

void Network::tables_changed() {
  equal_ports_.clear();
  multicast_.rebuild([this](PortName port) { return usable(index(port)); });
}

void Network::check_invariants() const {
  for (PortIndex port = 0; port < names_.size(); ++port) {
    const Wire& wire = wires_[port];
    if (wire.to == no_port_index) continue;
    for (const Lane& lane : wire.lanes) {
      HAWSER_ASSERT(lane.credits + lane.returning + lane.in_flight + lane.occupied == wire.capacity);
      std::uint64_t returning = 0;
      for (const CreditReturn& credit : lane.returns) returning += credit.bytes;
      HAWSER_ASSERT(returning == lane.returning);
      HAWSER_ASSERT(!lane.waiting.empty() || lane.waiting_bytes == 0);
    }
  }
  for (const InputQueue& queue : inputs_) {
    HAWSER_ASSERT(queue.unstarted <= queue.pending);
    HAWSER_ASSERT(queue.unstarted == 0 || !queue.fifo.empty());
    HAWSER_ASSERT(queue.pending != 0 || queue.fifo.empty() || queue.train != nullptr);
  }
}

bool Network::quiescent(Nanoseconds now) const {
  if (alive_packets_ != 0) return false;
  for (PortIndex port = 0; port < names_.size(); ++port) {
    for (const Lane& lane : wires_[port].lanes) {
      if (lane.in_flight != 0 || lane.occupied != 0 || !lane.waiting.empty()) return false;
      if (!lane.returns.empty() && lane.returns.back().time > now) return false;
    }
  }
  return true;
}

}  // namespace hawser::fabric
