// Coarse chunks: a packet of several MTUs is a train of packets that follow each other without a gap. Where
// nobody else wants the wire it crosses as one. Whoever comes while it crosses passes between two of its
// packets, and the rest of it is later by that: on this wire at once, and on wires that its head has reached
// already when its end gets there (`behind` and `ahead`). Where several trains wait for a wire only one can
// be taken apart in time like that; from the others a few packets at a time are cut, and go on as packets
// of their own.
//
// A train may have been sent, by its bytes, before its last byte has come in, since the wire before is
// slower or others have passed there. It does not keep the wire then: only its end comes out late.
#include <algorithm>
#include <utility>

#include "fabric/network/network.h"

namespace hawser::fabric {
namespace {

// Takes the first `bytes` of the payload away.
void skip_payload(Payload& payload, std::uint64_t bytes) {
  payload.size -= bytes;
  if (payload.bytes != nullptr) {
    payload.bytes_offset += bytes;
    return;
  }
  std::uint8_t gone = 0;
  while (bytes > 0 && payload.pieces[gone].length <= bytes) bytes -= payload.pieces[gone++].length;
  if (bytes > 0) {
    payload.pieces[gone].address += bytes;
    payload.pieces[gone].length -= bytes;
  }
  std::copy(payload.pieces.begin() + gone, payload.pieces.begin() + payload.piece_count,
            payload.pieces.begin());
  payload.piece_count = static_cast<std::uint8_t>(payload.piece_count - gone);
}

// Leaves only the first `bytes` of the payload.
void limit_payload(Payload& payload, std::uint64_t bytes) {
  payload.size = bytes;
  if (payload.bytes != nullptr) return;
  std::uint8_t kept = 0;
  while (bytes > 0) {
    Piece& piece = payload.pieces[kept++];
    piece.length = std::min<std::uint64_t>(piece.length, bytes);
    bytes -= piece.length;
  }
  payload.piece_count = kept;
}

}  // namespace

void Train::fire(Nanoseconds) { network.complete(*this); }

// All packets of a train but the last are equally long.
std::uint64_t Network::unit_bytes(const Packet& packet) {
  return (packet.wire_bytes - packet.length) / packet.psn_count + packet.mtu;
}

std::uint64_t Network::bytes_of(const Packet& packet, std::uint32_t units) {
  return units >= packet.units() ? packet.wire_bytes : units * unit_bytes(packet);
}

// ---- whose turn it is ----

// Inputs take turns packet by packet. Where several packets of one go together, the wire's clock counts what
// each has had: it is the turn of who has had least, and who had nothing to send has missed its turns.
void Network::join_line(Wire& wire, Lane& lane, InputQueue& queue) {
  if (wire.train_runs) wire.clock = wire.train->turn_at + sent_of_run(wire) / wire.train->unit;
  if (queue.line != wire.self || queue.turn_at < wire.clock) {
    // Behind all who are in line.
    queue.turn_at = wire.clock;
    if (queue.train == nullptr || queue.train != wire.train) {
      for (const InputQueue* other : lane.waiting)
        if (other != &queue && (wire.train == nullptr || other->train != wire.train))
          queue.turn_at = std::max(queue.turn_at, other->turn_at);
      if (wire.train != nullptr)
        queue.turn_at = std::max(queue.turn_at, wire.train_runs ? wire.clock : wire.train->turn_at);
    }
  }
  if (queue.source >= 0 && queue.train != nullptr && queue.train == wire.train) {
    // Another queue pair of the train's engine: the one that the train is of has its turn to the end.
    const Train& train = *queue.train;
    const bool after_turn = queue.fifo.front()->after_turn || wire.train_runs;
    const std::uint64_t turns = (wire.clock - train.begun_at) / packets_per_service + 1;
    queue.turn_at = after_turn ? train.begun_at + turns * packets_per_service : train.turn_at;
  }
  queue.line = wire.self;
}

// How many packets of a train go together while others want the wire, too: fewer towards the end of its
// message, so that all who share the wire get to their ends when they would packet by packet.
std::uint32_t Network::turn_of(const Packet& packet, std::uint64_t left) {
  if (packet.last && left <= packets_per_turn) return 1;
  if (packet.last && left <= 2 * packets_per_turn) return packets_per_turn / 2;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(left, packets_per_turn));
}

// How many packets may go together on the wire now: everyone's turn is as long as the shortest. `queue` is
// whose turn it is; null: the train's that crosses already.
std::uint32_t Network::turn(const Wire& wire, const InputQueue* queue) const {
  std::uint32_t most = UINT32_MAX;
  bool shared = queue != nullptr && queue->train != nullptr;
  for (const Lane& lane : wire.lanes) {
    for (const InputQueue* each : lane.waiting) {
      const Packet& front = *each->fifo.front();
      most = std::min(most, turn_of(front, front.units()));
      shared = shared || each != queue;
    }
  }
  if (const Train* train = wire.train; train != nullptr && train->packet != nullptr) {
    most = std::min(most, turn_of(*train->packet, (train->left + train->unit - 1) / train->unit));
    shared = shared || queue != nullptr;
  }
  return shared ? most : UINT32_MAX;
}

// How much of the queue's front packet goes at once.
std::uint32_t Network::part_to_start(const Wire& wire, const InputQueue& queue) const {
  const Packet& front = *queue.fifo.front();
  if (front.units() == 1 || queue.pending != 1) return front.units();
  return std::min(front.units(), turn(wire, &queue));
}

// Cuts the front packet behind its first `units`. The rest of it comes behind what left between its packets.
void Network::split_front(InputQueue& queue, std::uint32_t units) {
  Packet& packet = *queue.fifo.front();
  Packet& rest = *clone(packet);
  const std::uint64_t bytes = std::uint64_t{units} * packet.mtu;
  rest.psn = (packet.psn + units) & 0xffffff;
  rest.psn_count = packet.psn_count - units;
  rest.first = rest.after_turn = false;
  rest.offset += bytes;
  rest.remote_address += bytes;
  rest.length -= bytes;
  skip_payload(rest.payload, bytes);
  packet.wire_bytes = static_cast<std::uint32_t>(bytes_of(packet, units));
  rest.wire_bytes -= packet.wire_bytes;
  packet.psn_count = units;
  packet.last = packet.acknowledge_request = packet.with_immediate = packet.with_invalidate = false;
  packet.length = bytes;
  packet.tail = 0;  // it has come in
  limit_payload(packet.payload, bytes);
  if (packet.in_flight_link.linked()) {
    // Into the same list of the sender's.
    ListLink& link = packet.in_flight_link;
    rest.in_flight_link = {link.next, &link};
    link.next->previous = &rest.in_flight_link;
    link.next = &rest.in_flight_link;
  }
  rest.train = std::exchange(packet.train, nullptr);
  if (rest.train != nullptr) rest.train->packet = &rest;
  Packet* position = &packet;
  const auto passes = [&](const Packet* other) {
    return other != nullptr && other->between &&
           !(other->stream() == packet.stream() && other->source_port == packet.source_port);
  };
  while (passes(position->next)) position = position->next;
  queue.fifo.push_behind(position, &rest);
  queue.more = true;
}

void Network::start_train(Wire& wire, Lane& lane, InputQueue& queue) {
  if (free_trains_.empty()) {
    trains_.push_back(std::make_unique<Train>(*this));
    free_trains_.push_back(trains_.back().get());
  }
  Train& train = *free_trains_.back();
  free_trains_.pop_back();
  queue.pending = queue.unstarted = 0;
  queue.more = false;
  Packet& packet = take_front(queue);
  train.queue = &queue;
  train.packet = &packet;
  train.wire = wire.self;
  train.left = packet.wire_bytes;
  train.unit = unit_bytes(packet);
  train.begun_at = train.turn_at = wire.clock;
  train.held_wire = std::exchange(queue.held_wire, no_port_index);
  train.held_bytes = queue.held_bytes;
  train.source_port = packet.source_port;
  train.stream = queue.held_stream;
  train.behind = packet.train;
  train.ahead = nullptr;
  train.tail = packet.tail + (queue.source < 0 ? parameters_.switch_latency : 0);
  if (train.behind != nullptr) train.behind->ahead = &train;
  queue.train = wire.train = &train;
  packet.train = &train;
  ++wire.unfinished;
  run_train(wire);
  begin_crossing(wire, lane, packet, wire.done.time(), train.tail);
  if (queue.fifo.front() != nullptr) present(queue);
  if (queue.source >= 0) wires_[queue.port].sink->train_leaves(queue.source);
}

// Packets of one stream stay in order.
bool Network::may_pass(const Packet& packet, const Train& train) {
  return packet.between && !(packet.stream() == train.stream && packet.source_port == train.source_port);
}

// How many packets the train may send while others wait: until it is the turn of one of these.
std::uint64_t Network::turn_of_train(const Wire& wire) const {
  std::uint64_t next = UINT64_MAX;
  for (const Lane& lane : wire.lanes)
    if (!lane.waiting.empty()) next = std::min(next, front_in_line(lane).turn_at);
  const std::uint64_t turn = this->turn(wire, nullptr);
  return next > wire.train->turn_at + turn ? next - wire.train->turn_at : turn;
}

// The wire goes on with its train: to its end, or for its turn.
void Network::run_train(Wire& wire) {
  Train& train = *wire.train;
  wire.in_turn = others_can_start(wire);
  const std::uint64_t most = wire.in_turn ? turn_of_train(wire) : train.left;
  wire.current = train.queue;
  wire.clock = train.turn_at;
  wire.train_runs = true;
  wire.run_start = events_.now();
  wire.run_bytes = std::min(train.left, most * train.unit);
  wire.before_run = wire.link;
  Nanoseconds done = std::max(wire.link.occupy(wire.run_start, wire.run_bytes), wire.run_start);
  constexpr Nanoseconds rounding = 2;
  if (wire.run_bytes == train.left && train.tail > done && train.tail <= done + rounding) done = train.tail;
  events_.schedule(wire.done, done);
}

bool Network::others_can_start(Wire& wire) {
  for (Lane& lane : wire.lanes) {
    if (lane.waiting.empty()) continue;
    const InputQueue& queue = front_in_line(lane);
    const std::uint64_t bytes = bytes_of(*queue.fifo.front(), part_to_start(wire, queue));
    if (!take_credits(wire, lane, bytes)) continue;
    lane.credits += bytes;
    return true;
  }
  return false;
}

// Somebody may be waiting while the train has the wire for itself: it stops at the end of a packet, when it
// has had a turn.
void Network::interrupt(Wire& wire) {
  if (wire.in_turn || !others_can_start(wire)) return;
  const Train& train = *wire.train;
  const Nanoseconds all = wire.done.time() - wire.run_start, now = events_.now();
  if (all <= 0 || now >= wire.done.time()) return;
  const std::uint64_t sent = sent_of_run(wire);
  const std::uint64_t rounding = train.unit / 16;
  const std::uint64_t units = (sent + train.unit - 1 - std::min(sent, rounding)) / train.unit;
  const std::uint64_t turn = turn_of_train(wire);
  const std::uint64_t bytes = std::max(units, turn) * train.unit;
  if (bytes >= wire.run_bytes) return;
  wire.in_turn = turn <= packets_per_turn;  // or somebody else may still come before the next
  wire.run_bytes = bytes;
  wire.link = wire.before_run;
  events_.schedule(wire.done, std::max(wire.link.occupy(wire.run_start, bytes), now));
  wire.link.set_rate(wire.rate);  // a fault may have changed it since the run began
}

// Bytes.
std::uint64_t Network::sent_of_run(const Wire& wire) const {
  const Nanoseconds all = wire.done.time() - wire.run_start;
  if (all <= 0) return wire.run_bytes;
  const auto share = static_cast<double>(events_.now() - wire.run_start) / static_cast<double>(all);
  return static_cast<std::uint64_t>(share * static_cast<double>(wire.run_bytes));
}

void Network::run_done(Wire& wire) {
  Train& train = *wire.train;
  wire.train_runs = false;
  wire.current = nullptr;
  train.left -= wire.run_bytes;
  train.turn_at += (wire.run_bytes + train.unit - 1) / train.unit;
  if (nobody_waits(wire)) wire.clock = train.turn_at;
  if (train.left == 0 || !wire.up) release_train(wire);
}

// The wire is done with its train, or went down.
void Network::release_train(Wire& wire) {
  if (wire.train == nullptr || wire.train_runs) return;
  Train& train = *std::exchange(wire.train, nullptr);
  train.left = 0;
  if (train.queue->line == wire.self) train.queue->turn_at = std::max(train.queue->turn_at, train.turn_at);
  settle(train);
}

// All of it has been sent, except that its end may still have to come in.
void Network::settle(Train& train) {
  if (train.behind != nullptr) return;
  if (train.tail > events_.now()) {
    events_.schedule(train, train.tail);
  } else {
    complete(train);
  }
}

// The last byte leaves.
void Network::complete(Train& train) {
  const Wire& wire = wires_[train.wire];
  --wires_[train.wire].unfinished;
  const Nanoseconds tail = events_.now() + wire.latency + wire.extra;
  Train* const ahead = train.ahead;
  if (ahead == nullptr && train.packet != nullptr) {
    Packet& packet = *train.packet;
    packet.train = nullptr;
    packet.tail = tail;
    const bool waits = !is_switch(packet.at) && !(packet.scheduled() && packet.time() == tail);
    if (waits) events_.schedule(packet, tail);
  }
  if (train.held_wire != no_port_index) {
    Wire& held = wires_[train.held_wire];
    Lane& lane = held.lanes[train.queue->lane];
    lane.occupied -= train.held_bytes;
    give_back(held, lane, train.held_bytes);
  }
  InputQueue& queue = *train.queue;
  const std::uint32_t stream = train.stream;
  queue.train = nullptr;
  free_trains_.push_back(&train);
  if (ahead != nullptr) {
    ahead->behind = nullptr;
    ahead->tail = tail + parameters_.switch_latency;
    if (ahead->left == 0) settle(*ahead);
  }
  if (queue.source >= 0) wires_[queue.port].sink->source_has_room(queue.source, stream);
  if (queue.pending == 0) present(queue);
}

}  // namespace hawser::fabric
