#include "fabric/adapter/adapter_port.h"

#include <algorithm>
#include <utility>

#include "fabric/adapter/adapter.h"

namespace hawser::fabric {
namespace {

constexpr std::size_t gid_table_size = 16;
constexpr std::uint32_t packets_ahead = 2;  // one on the link, one fetched: keeps a link busy

// GID 0 of InfiniBand: subnet prefix and port GUID. Subnets that are not connected get different prefixes,
// since programs take ports with one prefix to reach each other.
Gid default_gid(std::uint64_t prefix, std::uint64_t guid) {
  Gid gid{};
  for (std::size_t i = 0; i < 8; ++i) {
    gid[i] = static_cast<std::uint8_t>(prefix >> (56 - 8 * i));
    gid[8 + i] = static_cast<std::uint8_t>(guid >> (56 - 8 * i));
  }
  return gid;
}

}  // namespace

AdapterPort::AdapterPort(Adapter& adapter, int number, AdapterBus& bus)
    : adapter_(adapter),
      number_(number),
      bus_(bus),
      index_(adapter.services().network.index({adapter.node(), number})) {
  const Parameters& parameters = adapter.services().parameters;
  for (int i = 0; i < parameters.send_engines; ++i) {
    auto engine = std::make_unique<Engine>();
    engine->port = this;
    engine->number = i;
    int source = i;
    const auto number_outlet = [&](Outlet& outlet) {
      outlet.queue.port = index_;
      outlet.queue.source = source;
      source += parameters.send_engines;
    };
    for (Outlet& outlet : engine->data) number_outlet(outlet);
    number_outlet(engine->acknowledgements);
    engine->rate.set_rate(parameters.send_engine_rate);
    engines_.push_back(std::move(engine));
  }
  loop_.set_rate(parameters.link_rate);
  receive_engines_.resize(static_cast<std::size_t>(parameters.receive_engines));
  for (Serializer& engine : receive_engines_) engine.set_rate(parameters.receive_engine_rate);
  gids_.resize(gid_table_size);
  constexpr std::uint64_t link_local = 0xfe80000000000000;
  set_gid(0, {default_gid(link_local, adapter.services().topology.port(name()).guid),
              parameters.link_layer == LinkLayer::ethernet ? GidType::roce_v2 : GidType::infiniband});
  adapter.services().network.attach(index_, *this);
  active_ = adapter.services().network.usable(index_);
}

PortName AdapterPort::name() const { return {adapter_.node(), number_}; }

Lid AdapterPort::lid() const { return adapter_.services().tables.address(name()).base; }

int AdapterPort::lmc() const { return adapter_.services().tables.address(name()).lmc; }

void AdapterPort::refresh() {
  const bool active = !adapter_.dead() && adapter_.services().network.usable(index_);
  if (active == active_) return;
  active_ = active;
  if (!adapter_.dead()) {
    adapter_.broadcast(
        {.type = active ? AsyncEventType::port_active : AsyncEventType::port_error, .port = number_});
  }
}

// ---- sending ----

void AdapterPort::kick(QueuePair& queue_pair) {
  if (!enqueue(queue_pair)) return;
  // A moment later, so that requests posted together are served together and no call goes deep.
  if (!doorbell_.scheduled()) adapter_.services().events.schedule(doorbell_, adapter_.now());
}

// False: it was in line already, an engine is at it, or it has nothing to send now.
bool AdapterPort::enqueue(QueuePair& queue_pair) {
  const bool urgent = queue_pair.has_urgent() && !queue_pair.urgent_link.linked();
  if (urgent) urgent_.push_back(&queue_pair);
  const bool responses = enqueue(queue_pair.responses);
  const bool requests = enqueue(queue_pair.requests);
  return urgent || responses || requests;
}

bool AdapterPort::enqueue(SendTurn& turn) {
  if (turn.in_service || turn.ready_link.linked() || !turn.queue_pair.has_work(turn.stream)) return false;
  if (held_back(turn.queue_pair)) return false;
  ready(turn.stream).push_back(&turn);
  return true;
}

// Whether congestion control lets it wait; it comes again by itself then.
bool AdapterPort::held_back(QueuePair& queue_pair) {
  const Nanoseconds until = queue_pair.congestion.not_before();
  if (until <= adapter_.now()) return false;
  if (!queue_pair.pace_event.scheduled()) adapter_.services().events.schedule(queue_pair.pace_event, until);
  return true;
}

// A packet of data is taken from it; if that makes it wait, it loses the rest of its turn.
void AdapterPort::pace(QueuePair& queue_pair, const Packet& packet, DataOutlet& outlet) {
  const Parameters& parameters = adapter_.services().parameters;
  const double rate = adapter_.services().network.rate(index_);
  if (!parameters.congestion_control || rate == 0 || packet.payload.size == 0 ||
      packet.transport == QpType::ud)
    return;
  const auto duration = static_cast<Nanoseconds>(packet.wire_bytes / rate * 1e9);
  queue_pair.congestion.sent(parameters, adapter_.now(), duration);
  if (queue_pair.congestion.not_before() > adapter_.now()) outlet.burst = 0;
}

void AdapterPort::unqueue(QueuePair& queue_pair) {
  for (SendTurn* turn : {&queue_pair.requests, &queue_pair.responses})
    if (turn->ready_link.linked()) ready(turn->stream).remove(turn);
  if (queue_pair.urgent_link.linked()) urgent_.remove(&queue_pair);
}

void AdapterPort::forget(QueuePair& queue_pair) {
  unqueue(queue_pair);
  for (auto& engine : engines_) {
    const auto leave = [&](Outlet& outlet) {
      for (Leaving& each : outlet.pipeline)
        if (each.owner == &queue_pair) each.owner = nullptr;
    };
    for (DataOutlet& outlet : engine->data) {
      if (outlet.serving == &queue_pair.turn(outlet.stream)) outlet.serving = nullptr;
      leave(outlet);
    }
    leave(engine->acknowledgements);
  }
}

void AdapterPort::on_doorbell(Nanoseconds) {
  if (adapter_.services().network.fast()) {
    run_fast();
    return;
  }
  for (auto& engine : engines_) run(*engine);
}

void AdapterPort::count_sent(const Packet& packet) {
  ++counters_.sent_packets;
  counters_.sent_bytes += packet.wire_bytes;
  const std::uint64_t payload = packet.kind == PacketKind::read_request ? 0 : packet.length;
  counters_.payload_bytes += payload;
  if (packet.retried) counters_.repeated_bytes += payload;
  if (packet.service_level != 0 || adapter_.services().parameters.service_levels > 1) [[unlikely]]
    counters_.off_level += off_level(packet);
}

// What administrators themselves are asked goes on the level that the port knows, not by a path record.
bool AdapterPort::off_level(const Packet& packet) const {
  const Parameters& parameters = adapter_.services().parameters;
  if (parameters.link_layer == LinkLayer::ethernet || packet.destination_lid >= first_multicast_lid ||
      packet.destination_qp == management_qp || packet.source_qp == management_qp)
    return false;
  return packet.service_level !=
         path_service_level(index_, packet.destination_lid, parameters.service_levels);
}

void AdapterPort::send_fast(Packet& packet) {
  count_sent(packet);
  if (!stays_here(packet)) adapter_.services().network.send(index_, packet);
}

void AdapterPort::run_fast() {
  while (QueuePair* queue_pair = urgent_.pop_front()) {
    while (Packet* packet = queue_pair->port() == number_ ? queue_pair->next_urgent() : nullptr)
      send_fast(*packet);
    finish_service(*queue_pair);
  }
  for (ReadyList* ready : {&ready_responses_, &ready_requests_}) {
    while (SendTurn* turn = ready->pop_front()) {
      QueuePair& queue_pair = turn->queue_pair;
      turn->in_service = true;
      Packet* packet = nullptr;
      while (queue_pair.port() == number_ && (packet = queue_pair.next_packet()) != nullptr)
        send_fast(*packet);
      turn->in_service = false;
      finish_service(queue_pair);
    }
  }
}

void AdapterPort::send_posted(QueuePair& queue_pair) {
  if (!adapter_.services().network.fast()) return;
  while (Packet* packet = queue_pair.next_packet()) send_fast(*packet);
}

// It goes to the end of the line; of another port's, when it has migrated.
void AdapterPort::finish_service(QueuePair& queue_pair) {
  if (!queue_pair.has_work() || !adapter_.valid_port(queue_pair.port())) return;
  if (queue_pair.port() == number_) {
    enqueue(queue_pair);
  } else {
    adapter_.port(queue_pair.port()).kick(queue_pair);
  }
}

// Another engine may not take more of it while packets leave by one: they could overtake each other.
bool AdapterPort::eligible(const QueuePair& queue_pair, const Engine& engine) const {
  return queue_pair.in_pipeline == 0 || queue_pair.engine == engine.number;
}

Packet* AdapterPort::next_urgent(Engine& engine) {
  for (QueuePair* queue_pair = urgent_.front(); queue_pair != nullptr;) {
    QueuePair* const next = urgent_.next(queue_pair);
    const bool here = queue_pair->port() == number_;
    // An answer does not overtake data that were read before it.
    if (here && (!eligible(*queue_pair, engine) || queue_pair->read_responses_leaving > 0)) {
      queue_pair = next;
      continue;
    }
    urgent_.remove(queue_pair);
    Packet* packet = here ? queue_pair->next_urgent() : nullptr;
    if (packet != nullptr) {
      enter_pipeline(engine, engine.acknowledgements, *queue_pair, *packet);
      return packet;
    }
    finish_service(*queue_pair);
    queue_pair = next;
  }
  return nullptr;
}

SendTurn* AdapterPort::next_ready(DataOutlet& outlet) {
  ReadyList& line = ready(outlet.stream);
  for (SendTurn* turn = line.front(); turn != nullptr; turn = line.next(turn)) {
    if (!eligible(turn->queue_pair, outlet.engine) || leaves_as_train(*turn, outlet)) continue;
    line.remove(turn);
    return turn;
  }
  return nullptr;
}

// Whether another packet may be fetched. A chunk is enough, but while one leaves packets of other queue pairs
// may, and leave between its own.
bool AdapterPort::has_room(const DataOutlet& outlet) const {
  const InputQueue& queue = outlet.queue;
  if (queue.train != nullptr) return outlet.ahead() == 0;
  const bool chunk = !queue.fifo.empty() && queue.fifo.back()->units() > Network::packets_per_turn;
  return !chunk && outlet.ahead() < packets_ahead;
}

// Then it has to wait for the end of that.
bool AdapterPort::leaves_as_train(const SendTurn& turn, const DataOutlet& outlet) const {
  const Train* const train = outlet.queue.train;
  return train != nullptr && PacketBody::queue_pair_of(train->stream) == turn.queue_pair.number();
}

// While others wait, a queue pair has no more than the rest of its turn.
Packet* AdapterPort::next_packet(DataOutlet& outlet) {
  while (true) {
    if (outlet.serving == nullptr) {
      outlet.serving = next_ready(outlet);
      if (outlet.serving == nullptr) return nullptr;
      outlet.serving->in_service = true;
      outlet.burst = Network::packets_per_service;
    }
    SendTurn& turn = *outlet.serving;
    QueuePair& queue_pair = turn.queue_pair;
    if (outlet.burst > 0 && queue_pair.port() == number_) {
      if (leaves_as_train(turn, outlet)) return nullptr;
      const bool alone = ready(outlet.stream).empty();
      const auto most = alone ? UINT32_MAX : static_cast<std::uint32_t>(outlet.burst);
      if (Packet* packet = queue_pair.next_packet(turn.stream, most)) {
        outlet.burst -= static_cast<int>(packet->units());
        pace(queue_pair, *packet, outlet);
        take_turn(outlet, turn, *packet);
        enter_pipeline(outlet.engine, outlet, queue_pair, *packet);
        return packet;
      }
    }
    outlet.serving = nullptr;
    turn.in_service = false;
    finish_service(queue_pair);
  }
}

// Where it stands among packets that leave between those of a train.
void AdapterPort::take_turn(DataOutlet& outlet, SendTurn& turn, Packet& packet) {
  const Train* const train = outlet.queue.train;
  if (train == nullptr) return;
  packet.after_turn = turn.round == outlet.round;
  if (packet.after_turn) ++outlet.round;
  turn.round = outlet.round;
  QueuePair* const first =
      packet.after_turn ? adapter_.find(PacketBody::queue_pair_of(train->stream)) : nullptr;
  if (first == nullptr || first->port() != number_) return;
  SendTurn& waits = first->turn(outlet.stream);
  if (!waits.ready_link.linked()) return;
  ready(outlet.stream).remove(&waits);
  ready(outlet.stream).push_back(&waits);
}

void AdapterPort::enter_pipeline(const Engine& engine, Outlet& outlet, QueuePair& queue_pair,
                                 const Packet& packet) {
  const bool read_response = packet.kind == PacketKind::read_response;
  outlet.pipeline.push_back({&queue_pair, packet.stream(), read_response});
  queue_pair.engine = engine.number;
  ++queue_pair.in_pipeline;
  if (read_response) ++queue_pair.read_responses_leaving;
  finish_service(queue_pair);
  count_sent(packet);
}

bool AdapterPort::is_mine(Lid lid) const { return (lid >> lmc()) == (this->lid() >> lmc()); }

// A packet to this port itself does not touch the cable; of a multicast packet a copy stays for the other
// queue pairs here.
bool AdapterPort::stays_here(Packet& packet) {
  Network& network = adapter_.services().network;
  if (packet.destination_lid >= first_multicast_lid) [[unlikely]] {
    if (adapter_.has_multicast()) network.loop_back(index_, *network.clone(packet));
    return false;
  }
  if (!is_mine(packet.destination_lid) || !active_) return false;
  network.loop_back(index_, packet);
  return true;
}

void AdapterPort::run(Engine& engine) {
  if (engine.running) return;  // a packet was dropped at once: the loops below go on by themselves
  engine.running = true;
  // An acknowledgement may have waited for data before it.
  bool again = true;
  while (again) {
    run_acknowledgements(engine);
    again = false;
    for (DataOutlet& outlet : engine.data) again = run(outlet) || again;
  }
  engine.running = false;
}

void AdapterPort::run_acknowledgements(Engine& engine) {
  while (engine.acknowledgements.ahead() < packets_ahead) {
    Packet* packet = next_urgent(engine);
    if (packet == nullptr) return;
    packet->tail = engine.rate.pass_between(adapter_.now(), packet->wire_bytes);
    leave(engine.acknowledgements, *packet);
  }
}

// Answers whether it has sent, or begun to fetch.
bool AdapterPort::run(DataOutlet& outlet) {
  bool sent = false;
  while (outlet.fetching == nullptr && has_room(outlet)) {
    Packet* packet = next_packet(outlet);
    if (packet == nullptr) break;
    sent = true;
    const Nanoseconds ready = fetch(outlet, *packet);
    if (ready > adapter_.now()) {
      outlet.fetching = packet;
      adapter_.services().events.schedule(outlet.fetch_event, ready);
    } else {
      leave(outlet, *packet);
    }
  }
  return sent;
}

// Returns when the packet may go to the network: a chunk when its first MTU has been fetched.
Nanoseconds AdapterPort::fetch(DataOutlet& outlet, Packet& packet) {
  const Nanoseconds now = adapter_.now();
  Nanoseconds head = now;
  packet.tail = now;
  const auto pass = [&](Serializer& way, std::uint64_t bytes) {
    if (way.unlimited()) return;
    const Nanoseconds before = std::max(now, way.free_at());
    const Nanoseconds first = (way.occupy(now, bytes) - before) / packet.units();
    const Nanoseconds early = packet.units() > 1 && outlet.ready_before && before == now ? first : 0;
    head = std::max(head, before + first - early);
    packet.tail = std::max(packet.tail, way.free_at() - early);
  };
  pass(outlet.engine.rate, packet.wire_bytes);
  pass(bus_.outward(), packet.payload.size);
  if (is_mine(packet.destination_lid)) return std::max(packet.tail, loop_.occupy(now, packet.wire_bytes));
  return head;
}

void AdapterPort::leave(Outlet& outlet, Packet& packet) {
  const std::uint32_t stream = packet.stream();
  if (stays_here(packet)) {
    leave_pipeline(outlet, stream);
  } else {
    adapter_.services().network.submit(outlet.queue, packet);
  }
}

void AdapterPort::fetched(DataOutlet& outlet) {
  Packet* packet = outlet.fetching;
  outlet.fetching = nullptr;
  leave(outlet, *packet);
  run(outlet.engine);
}

void AdapterPort::source_has_room(int source, std::uint32_t stream) {
  const auto number = static_cast<std::size_t>(source);
  Engine& engine = *engines_[number % engines_.size()];
  const std::size_t which = number / engines_.size();
  if (which >= engine.data.size()) {
    leave_pipeline(engine.acknowledgements, stream);
    return run(engine);
  }
  DataOutlet& outlet = engine.data[which];
  leave_pipeline(outlet, stream);
  outlet.ready_before = true;
  run(engine);
  outlet.ready_before = false;
}

void AdapterPort::train_leaves(int source) {
  const auto number = static_cast<std::size_t>(source);
  Engine& engine = *engines_[number % engines_.size()];
  if (!ready(engine.data[number / engines_.size()].stream).empty()) run(engine);
}

// The oldest packet of this stream has left. Its queue pair may go to another engine now: one that found
// nothing to do looks again.
void AdapterPort::leave_pipeline(Outlet& outlet, std::uint32_t stream) {
  HAWSER_ASSERT(!outlet.pipeline.empty());
  const auto of = [stream](const Leaving& each) { return each.owner != nullptr && each.stream == stream; };
  auto leaving = outlet.pipeline.begin();
  if (!of(*leaving)) leaving = std::find_if(outlet.pipeline.begin(), outlet.pipeline.end(), of);
  if (leaving == outlet.pipeline.end()) {
    leaving = std::find_if(outlet.pipeline.begin(), outlet.pipeline.end(),
                           [](const Leaving& each) { return each.owner == nullptr; });
  }
  HAWSER_ASSERT(leaving != outlet.pipeline.end());
  QueuePair* const queue_pair = leaving->owner;
  const bool read_response = leaving->read_response;
  outlet.pipeline.erase(leaving);
  if (queue_pair == nullptr) return;
  if (read_response) --queue_pair->read_responses_leaving;
  if (--queue_pair->in_pipeline > 0 || engines_.size() == 1) return;
  if (!queue_pair->requests.ready_link.linked() && !queue_pair->responses.ready_link.linked() &&
      !queue_pair->urgent_link.linked())
    return;
  if (!doorbell_.scheduled()) adapter_.services().events.schedule(doorbell_, adapter_.now());
}

}  // namespace hawser::fabric
