#include "fabric/network/network.h"

#include <algorithm>
#include <utility>

#include "fabric/topology/path_analysis.h"

namespace hawser::fabric {
namespace {

// Why a packet was dropped, for the trace.
enum DropReason : std::uint64_t { no_route, link_down, lost, black_hole, no_sink };

}  // namespace

void Packet::fire(Nanoseconds now) { network.arrived(*this, now); }

Network::Network(EventQueue& events, const Topology& topology, const RoutingTables& tables,
                 const Parameters& parameters, Random& random, Trace& trace)
    : events_(events),
      topology_(topology),
      tables_(tables),
      parameters_(parameters),
      random_(random),
      trace_(trace),
      multicast_(topology),
      lane_count_(static_cast<std::size_t>(parameters.virtual_lanes)) {
  for (std::size_t i = 0; i < topology.nodes().size(); ++i) {
    const TopologyNode& node = topology.nodes()[i];
    first_port_.push_back(static_cast<PortIndex>(names_.size()));
    for (int p = 0; p <= node.port_count(); ++p) {
      names_.push_back({static_cast<std::int32_t>(i), p});
      at_switch_.push_back(node.kind == NodeKind::switch_device);
    }
  }
  alive_.assign(topology.nodes().size(), true);
  wires_ = std::make_unique<Wire[]>(names_.size());
  inputs_.resize(names_.size() * lane_count_);
  for (PortIndex port = 0; port < names_.size(); ++port) set_up_wire(port);
  for (const LinkParameters& link : parameters.links) {
    const PortIndex near = index(link.port);
    if (link.rate) set_rate(near, *link.rate);
    if (!link.latency || wires_[near].to == no_port_index) continue;
    wires_[near].latency = wires_[wires_[near].to].latency = *link.latency;
    fit_buffer(wires_[near]);
    fit_buffer(wires_[wires_[near].to]);
  }
  update_fast();
  coarse_ = parameters.chunk > parameters.mtu;
}

Network::~Network() = default;

void Network::set_up_wire(PortIndex port) {
  Wire& wire = wires_[port];
  wire.network = this;
  wire.self = port;
  wire.rate = parameters_.link_rate;
  wire.link.set_rate(wire.rate);
  wire.latency = parameters_.link_latency;
  wire.lanes.resize(lane_count_);
  for (std::size_t lane = 0; lane < lane_count_; ++lane) {
    input(port, lane).port = port;
    input(port, lane).lane = static_cast<std::uint8_t>(lane);
  }
  const PortName peer = topology_.port(names_[port]).peer;
  if (peer.node >= 0) {
    wire.to = first_port_[static_cast<std::size_t>(peer.node)] + static_cast<PortIndex>(peer.port);
    wire.cable_up = wire.up = true;
  }
  fit_buffer(wire);
}

// The buffer must hold what is under way until the first credit comes back, or the rate would not hold.
void Network::fit_buffer(Wire& wire) {
  const std::uint64_t headers = 8 * (parameters_.header_bytes + 64);
  std::uint64_t capacity = std::max<std::uint64_t>(parameters_.buffer, parameters_.mtu + headers);
  const auto trip = static_cast<double>(2 * (wire.latency + wire.extra) + parameters_.switch_latency);
  if (wire.rate == 0) {
    capacity = std::uint64_t{1} << 40;  // an unlimited link never waits for room
  } else if (parameters_.buffer != 0) {
    const auto on_its_way = static_cast<std::uint64_t>(wire.rate * trip / 1e9);
    largest_chunk_ = std::min(largest_chunk_, (capacity - std::min(capacity, on_its_way)) / 8);
  } else {
    const std::uint64_t unit = std::max(parameters_.chunk, parameters_.mtu) + headers;
    // An adapter's receive engines each need packets of their own to work on.
    const bool adapter = wire.to != no_port_index && !is_switch(wire.to);
    const auto packets = static_cast<std::uint64_t>(adapter ? 8 * parameters_.receive_engines : 8);
    capacity = std::max(packets * unit, 2 * unit + static_cast<std::uint64_t>(wire.rate * trip / 1e9));
  }
  if (capacity <= wire.capacity) return;  // it never shrinks, for packets may be in it
  for (Lane& lane : wire.lanes) lane.credits += capacity - wire.capacity;
  wire.capacity = capacity;
}

void Network::update_fast() {
  fast_ = parameters_.unlimited();
  for (PortIndex port = 0; port < names_.size(); ++port) fast_ = fast_ && wires_[port].rate == 0;
}

Packet* Network::allocate() {
  ++alive_packets_;
  if (free_ == nullptr) {
    pool_.push_back(std::make_unique<Packet>(*this));
    return pool_.back().get();
  }
  Packet* packet = free_;
  free_ = packet->next;
  packet->next = nullptr;
  static_cast<PacketBody&>(*packet) = {};
  return packet;
}

Packet* Network::clone(const Packet& packet) {
  Packet* copy = allocate();
  static_cast<PacketBody&>(*copy) = packet;
  return copy;
}

void Network::free(Packet& packet) {
  HAWSER_ASSERT(!packet.scheduled() && alive_packets_ > 0);
  if (packet.in_flight_link.linked()) {
    // Leaves the list without knowing which: links are circular.
    packet.in_flight_link.next->previous = packet.in_flight_link.previous;
    packet.in_flight_link.previous->next = packet.in_flight_link.next;
    packet.in_flight_link = {};
  }
  packet.payload.bytes.reset();
  if (packet.train != nullptr) std::exchange(packet.train, nullptr)->packet = nullptr;
  packet.next = free_;
  free_ = &packet;
  --alive_packets_;
}

void Network::drop(Packet& packet, std::uint64_t why) {
  trace_.note(TraceKind::packet_dropped, events_.now(), packet.psn, why);
  if (packet.wire != no_port_index) ++wires_[packet.wire].counters.dropped;
  consume(packet);
}

void Network::consume(Packet& packet) {
  if (packet.in_buffer) {
    Wire& wire = wires_[packet.wire];
    Lane& lane = wire.lanes[packet.lane];
    lane.occupied -= packet.wire_bytes;
    give_back(wire, lane, packet.wire_bytes);
  }
  free(packet);
}

// ---- without rates: one event for the whole way ----

void Network::send(PortIndex from, Packet& packet) {
  packet.lane = static_cast<std::uint8_t>(packet.service_level % lane_count_);
  packet.source_port = from;
  trace_.note(TraceKind::packet_sent, events_.now(), packet.psn, from);
  cross_fast(from, packet, 0);
}

// Leaves by a wire: counts, meets the faults, adds the time. False when the packet is gone.
bool Network::leave_fast(Wire& wire, Packet& packet, Nanoseconds& delay) {
  packet.wire = wire.self;
  ++wire.counters.packets;
  wire.counters.bytes += packet.wire_bytes;
  const bool gone = !wire.up || wire.black_hole || (wire.loss > 0 && random_.chance(wire.loss));
  if (gone) [[unlikely]] {
    drop(packet, !wire.up ? link_down : wire.black_hole ? black_hole : lost);
    return false;
  }
  delay += wire.latency + wire.extra;
  return true;
}

void Network::cross_fast(PortIndex from, Packet& packet, Nanoseconds delay) {
  PortIndex out = from;
  for (std::size_t hop = 0; hop < longest_path; ++hop) {
    if (!leave_fast(wires_[out], packet, delay)) return;
    const PortIndex at = wires_[out].to;
    if (!is_switch(at)) {
      packet.at = at;
      packet.tail = events_.now() + delay;
      events_.schedule(packet, packet.tail);
      return;
    }
    delay += parameters_.switch_latency;
    const PortName in = names_[at];
    if (packet.destination_lid >= first_multicast_lid) {
      std::vector<std::uint8_t> ports;
      multicast_.next_ports(packet.destination_lid, in.node, in.port, ports);
      for (const std::uint8_t port : ports) cross_fast(index({in.node, port}), *clone(packet), delay);
      free(packet);
      return;
    }
    const std::uint8_t port = tables_.out_port(in.node, packet.destination_lid);
    if (port == no_port || port == 0) break;
    out = index({in.node, port});
  }
  drop(packet, no_route);
}

// ---- arriving ----

void Network::arrived(Packet& packet, Nanoseconds now) {
  Wire& wire = wires_[packet.wire];
  Wire& here = wires_[packet.at];
  if (packet.processing) return here.sink->arrive(packet);
  if (packet.delayed) {
    InputQueue& queue = input(packet.at, packet.lane);
    queue.pending = queue.unstarted = 0;
    return present(queue);
  }
  if (packet.train != nullptr && !is_switch(packet.at))
    return;  // its end is late, and comes when it has left
  const bool slow = packet.link_epoch != 0;
  if (slow) {
    Lane& lane = wire.lanes[packet.lane];
    lane.in_flight -= packet.wire_bytes;
    lane.occupied += packet.wire_bytes;
    packet.in_buffer = true;
  }
  if (!wire.up || (slow && packet.link_epoch != wire.epoch + 1)) return drop(packet, link_down);
  if (is_switch(packet.at)) {
    InputQueue& queue = input(packet.at, packet.lane);
    queue.fifo.push(&packet);
    if (queue.pending == 0) present(queue);
    return;
  }
  if (here.sink == nullptr) return drop(packet, no_sink);
  trace_.note(TraceKind::packet_delivered, now, packet.psn, packet.at);
  here.sink->arrive(packet);
}

void Network::loop_back(PortIndex port, Packet& packet) {
  packet.source_port = packet.at = packet.wire = port;
  packet.processing = true;
  trace_.note(TraceKind::packet_sent, events_.now(), packet.psn, port);
  events_.schedule(packet, events_.now());
}

// ---- with rates: buffers, credits, crossbars ----

void Network::submit(InputQueue& queue, Packet& packet) {
  packet.lane = static_cast<std::uint8_t>(packet.service_level % lane_count_);
  packet.source_port = queue.port;
  packet.tail = std::max(packet.tail, events_.now());
  packet.between = queue.train != nullptr && queue.train->stream != packet.stream();
  trace_.note(TraceKind::packet_sent, events_.now(), packet.psn, queue.port);
  queue.fifo.push(&packet);
  if (queue.pending == 0) present(queue);
}

// Puts the front packet of a queue in line for its output, or outputs; drops packets that have none.
void Network::present(InputQueue& queue) {
  while (Packet* packet = queue.fifo.front()) {
    if (queue.train != nullptr && !may_pass(*packet, *queue.train)) return;
    outputs_of(queue, *packet);
    const std::int32_t node = names_[queue.port].node;
    std::erase_if(chosen_, [&](std::uint8_t port) { return !wires_[index({node, port})].up; });
    const Nanoseconds start =
        chosen_.size() == 1 ? may_start(queue, *packet, wires_[index({node, chosen_[0]})]) : 0;
    packet->delayed = start > events_.now();
    if (packet->delayed) {
      queue.pending = queue.unstarted = 1;
      events_.schedule(*packet, start);
      return;
    }
    if (!chosen_.empty()) {
      queue.pending = queue.unstarted = static_cast<std::uint32_t>(chosen_.size());
      const std::size_t lane = packet->lane;
      for (const std::uint8_t port : chosen_) {
        Wire& wire = wires_[index({node, port})];
        if (parameters_.ecn_threshold != 0 && wire.lanes[lane].waiting_bytes >= parameters_.ecn_threshold) {
          packet->congestion_marked = true;
          ++wire.counters.marked;
        }
        wire.lanes[lane].waiting.push_back(&queue);
        if (coarse_) join_line(wire, wire.lanes[lane], queue);
        wire.lanes[lane].waiting_bytes += packet->wire_bytes;
        pump(wire);  // may take the packet away, but only for the last of its outputs
      }
      return;
    }
    queue.fifo.pop();
    const std::uint32_t stream = packet->stream();
    drop(*packet, no_route);
    if (queue.source >= 0) wires_[queue.port].sink->source_has_room(queue.source, stream);
    if (queue.pending != 0) return;  // the source has submitted, and so presented, another
  }
}

// When a packet may start on a wire: one that comes in more slowly than the wire sends so late that the wire
// need not wait for its tail.
Nanoseconds Network::may_start(const InputQueue& queue, const Packet& packet, const Wire& wire) const {
  if (queue.source >= 0 || packet.units() > packets_per_turn || packet.train != nullptr) return 0;
  const double in = wires_[packet.wire].rate;
  if (in == 0 || (wire.rate != 0 && wire.rate <= in)) return 0;
  const double duration = wire.rate == 0 ? 0 : packet.wire_bytes / wire.rate * 1e9;
  return packet.tail + parameters_.switch_latency - static_cast<Nanoseconds>(duration);
}

// Fills chosen_ with the ports of this node by which the packet goes on.
void Network::outputs_of(const InputQueue& queue, const Packet& packet) {
  chosen_.clear();
  const PortName in = names_[queue.port];
  if (queue.source >= 0) {
    chosen_.push_back(static_cast<std::uint8_t>(in.port));
  } else if (packet.destination_lid >= first_multicast_lid) {
    multicast_.next_ports(packet.destination_lid, in.node, in.port, chosen_);
  } else {
    std::uint8_t port = tables_.out_port(in.node, packet.destination_lid);
    if (port == no_port || port == 0) return;
    if (parameters_.adaptive_routing) port = adaptive_port(in.node, packet, port);
    chosen_.push_back(port);
  }
}

// The least loaded of the equally long ways; the table's own when they are equal.
std::uint8_t Network::adaptive_port(std::int32_t node, const Packet& packet, std::uint8_t port) {
  std::uint8_t best = port;
  std::uint64_t least = UINT64_MAX;
  for (const std::uint8_t candidate : equal_ports(node, packet.destination_lid, port)) {
    const Wire& wire = wires_[index({node, candidate})];
    if (!wire.up) continue;
    const Lane& lane = wire.lanes[packet.lane];
    const std::uint64_t load = 2 * (lane.waiting_bytes + (wire.current != nullptr ? 1 : 0)) + lane.in_flight +
                               lane.occupied + (candidate == port ? 0 : 1);
    if (load < least) {
      least = load;
      best = candidate;
    }
  }
  return best;
}

const std::vector<std::uint8_t>& Network::equal_ports(std::int32_t node, Lid lid, std::uint8_t port) {
  auto [entry, added] = equal_ports_.try_emplace((static_cast<std::uint64_t>(node) << 16) | lid);
  if (!added) return entry->second;
  const std::size_t length = trace_path(topology_, tables_, {node, port}, lid).hops.size();
  for (int p = 1; p <= topology_.node(node).port_count(); ++p) {
    const PortName peer = topology_.port({node, p}).peer;
    const bool candidate =
        p == port || (peer.node >= 0 && topology_.node(peer.node).kind == NodeKind::switch_device);
    if (!candidate) continue;
    const Path path = trace_path(topology_, tables_, {node, p}, lid);
    const bool returns = std::any_of(path.hops.begin() + 1, path.hops.end(),
                                     [&](const Hop& hop) { return hop.out.node == node; });
    if (path.complete && !returns && path.hops.size() == length)
      entry->second.push_back(static_cast<std::uint8_t>(p));
  }
  return entry->second;
}

// The packet leaves the queue; its room stays taken until the last output is done.
Packet& Network::take_front(InputQueue& queue) {
  Packet& packet = *queue.fifo.pop();
  queue.held_wire = packet.in_buffer ? packet.wire : no_port_index;
  queue.held_bytes = packet.wire_bytes;
  queue.held_stream = packet.stream();
  packet.in_buffer = false;
  return packet;
}

// One output of the presented packet is done with, or lost.
void Network::output_gone(InputQueue& queue) {
  HAWSER_ASSERT(queue.pending > 0);
  if (--queue.pending > 0) return;
  if (queue.held_wire != no_port_index) {
    Wire& wire = wires_[queue.held_wire];
    Lane& lane = wire.lanes[queue.lane];
    lane.occupied -= queue.held_bytes;
    give_back(wire, lane, queue.held_bytes);
    queue.held_wire = no_port_index;
  }
  const bool more = std::exchange(queue.more, false);
  if (queue.source >= 0 && !more) wires_[queue.port].sink->source_has_room(queue.source, queue.held_stream);
  if (queue.pending == 0) present(queue);
}

bool Network::take_credits(Wire& wire, Lane& lane, std::uint64_t bytes) {
  while (!lane.returns.empty() && lane.returns.front().time <= events_.now()) {
    lane.credits += lane.returns.front().bytes;
    lane.returning -= lane.returns.front().bytes;
    lane.returns.pop_front();
  }
  if (lane.credits >= bytes) {
    lane.credits -= bytes;
    return true;
  }
  ++wire.counters.credit_waits;
  if (!lane.returns.empty() && (!wire.credit.scheduled() || wire.credit.time() > lane.returns.front().time)) {
    events_.schedule(wire.credit, lane.returns.front().time);
  }
  return false;
}

void Network::give_back(Wire& wire, Lane& lane, std::uint64_t bytes) {
  const Nanoseconds time = events_.now() + wire.latency;
  lane.returns.push_back({time, bytes});
  lane.returning += bytes;
  const Nanoseconds first = lane.returns.front().time;
  if (!lane.waiting.empty() && (wire.current == nullptr || wire.train_runs) &&
      (!wire.credit.scheduled() || wire.credit.time() > first)) {
    events_.schedule(wire.credit, first);
  }
}

// Starts the next packet on an idle wire: lanes in turn, inputs of a lane in the order they came.
void Network::pump(Wire& wire) {
  if (!wire.up) return;
  if (wire.current != nullptr) {
    if (wire.train_runs) interrupt(wire);
    return;
  }
  for (std::size_t turn = 0; turn < lane_count_; ++turn) {
    const std::size_t number = (wire.next_lane + turn) % lane_count_;
    Lane& lane = wire.lanes[number];
    if (lane.waiting.empty()) continue;
    const InputQueue& queue = front_in_line(lane);
    if (wire.train != nullptr && wire.train->turn_at < queue.turn_at) break;
    const std::uint32_t units = part_to_start(wire, queue);
    if (!take_credits(wire, lane, bytes_of(*queue.fifo.front(), units))) continue;
    wire.next_lane = (number + 1) % lane_count_;
    start(wire, lane, units);
    return;
  }
  if (wire.train != nullptr) run_train(wire);
}

void Network::start(Wire& wire, Lane& lane, std::uint32_t units) {
  const Nanoseconds now = events_.now();
  InputQueue& queue = front_in_line(lane);
  if (&queue == lane.waiting.front()) {
    lane.waiting.pop_front();
  } else {
    lane.waiting.erase(std::find(lane.waiting.begin(), lane.waiting.end(), &queue));
  }
  const Packet& front = *queue.fifo.front();
  lane.waiting_bytes -= front.wire_bytes;
  wire.current = &queue;
  wire.clock = queue.turn_at;
  ++wire.counters.packets;
  if (units < front.units()) split_front(queue, units);
  wire.counters.bytes += front.wire_bytes;
  const bool several = front.units() > packets_per_turn || (front.units() > 1 && front.train != nullptr);
  if (several && queue.pending == 1 && wire.train == nullptr && queue.train == nullptr)
    return start_train(wire, lane, queue);
  queue.turn_at += units;
  if (queue.source < 0 && queue.train != nullptr && queue.train == wire.train) wire.train->turn_at += units;
  const Nanoseconds done = std::max(wire.link.occupy(now, front.wire_bytes), now);
  events_.schedule(wire.done, done);
  const Nanoseconds tail = front.tail + (queue.source < 0 ? parameters_.switch_latency : 0);
  Packet& crossing = --queue.unstarted == 0 ? take_front(queue) : *clone(front);
  if (crossing.train != nullptr) std::exchange(crossing.train, nullptr)->packet = nullptr;
  begin_crossing(wire, lane, crossing, done, tail);
}

// The head goes out now, and the tail when it has come in and the wire has sent all before it.
void Network::begin_crossing(Wire& wire, Lane& lane, Packet& crossing, Nanoseconds done, Nanoseconds tail) {
  crossing.in_buffer = false;
  crossing.wire = wire.self;
  crossing.at = wire.to;
  crossing.link_epoch = wire.epoch + 1;
  crossing.between = wire.unfinished > (crossing.train != nullptr ? 1u : 0u);
  crossing.head = events_.now() + wire.latency + wire.extra;
  crossing.tail = std::max(done, tail) + wire.latency + wire.extra;
  if (wire.black_hole || (wire.loss > 0 && random_.chance(wire.loss))) [[unlikely]] {
    give_back(wire, lane, crossing.wire_bytes);
    drop(crossing, wire.black_hole ? black_hole : lost);
    return;
  }
  lane.in_flight += crossing.wire_bytes;
  events_.schedule(crossing, is_switch(wire.to) ? crossing.head + parameters_.switch_latency : crossing.tail);
}

void Network::crossing_done(Wire& wire, Nanoseconds) {
  if (wire.train_runs) {
    run_done(wire);
  } else {
    InputQueue& queue = *wire.current;
    wire.current = nullptr;
    if (coarse_ && nobody_waits(wire)) wire.clock = queue.turn_at;
    output_gone(queue);
  }
  pump(wire);
}

}  // namespace hawser::fabric
