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
    engine->data.queue.port = engine->answers.queue.port = index_;
    engine->data.queue.source = i;
    engine->answers.queue.source = parameters.send_engines + i;
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
  const auto passes = [&](const auto& engine) { return passes_itself(queue_pair, *engine); };
  if (!enqueue(queue_pair) && std::none_of(engines_.begin(), engines_.end(), passes)) return;
  // A moment later, so that requests posted together are served together and no call goes deep.
  if (!doorbell_.scheduled()) adapter_.services().events.schedule(doorbell_, adapter_.now());
}

// False: it was in line already, an engine is at it, or it has nothing to send now.
bool AdapterPort::enqueue(QueuePair& queue_pair) {
  if (queue_pair.has_urgent()) {
    if (queue_pair.urgent_link.linked()) return false;
    urgent_.push_back(&queue_pair);
    return true;
  }
  if (queue_pair.in_service || queue_pair.ready_link.linked() || !queue_pair.has_work()) return false;
  if (held_back(queue_pair)) return false;
  ready_.push_back(&queue_pair);
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
void AdapterPort::pace(QueuePair& queue_pair, const Packet& packet, Engine& engine) {
  const Parameters& parameters = adapter_.services().parameters;
  const double rate = adapter_.services().network.rate(index_);
  if (!parameters.congestion_control || rate == 0 || packet.payload.size == 0 ||
      packet.transport == QpType::ud)
    return;
  const auto duration = static_cast<Nanoseconds>(packet.wire_bytes / rate * 1e9);
  queue_pair.congestion.sent(parameters, adapter_.now(), duration);
  if (queue_pair.congestion.not_before() > adapter_.now()) engine.burst = 0;
}

void AdapterPort::unqueue(QueuePair& queue_pair) {
  if (queue_pair.ready_link.linked()) ready_.remove(&queue_pair);
  if (queue_pair.urgent_link.linked()) urgent_.remove(&queue_pair);
}

void AdapterPort::forget(QueuePair& queue_pair) {
  unqueue(queue_pair);
  for (auto& engine : engines_) {
    if (engine->serving == &queue_pair) engine->serving = nullptr;
    for (Outlet* outlet : {&engine->data, &engine->answers}) {
      for (Leaving& each : outlet->pipeline)
        if (each.owner == &queue_pair) each.owner = nullptr;
    }
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
    while (Packet* packet = queue_pair->port() == number_ ? queue_pair->next_answer() : nullptr)
      send_fast(*packet);
    finish_service(*queue_pair);
  }
  while (QueuePair* queue_pair = ready_.pop_front()) {
    queue_pair->in_service = true;
    Packet* packet = nullptr;
    while (queue_pair->port() == number_ && (packet = queue_pair->next_packet()) != nullptr)
      send_fast(*packet);
    queue_pair->in_service = false;
    finish_service(*queue_pair);
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

bool AdapterPort::eligible(const QueuePair& queue_pair, const Engine& engine) const {
  if (queue_pair.in_service && engine.serving != &queue_pair) return false;
  return queue_pair.in_pipeline == 0 || queue_pair.engine == engine.data.queue.source;
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
    Packet* packet = here ? queue_pair->next_answer() : nullptr;
    if (packet != nullptr) {
      enter_pipeline(engine, engine.answers, *queue_pair, *packet);
      return packet;
    }
    finish_service(*queue_pair);
    queue_pair = next;
  }
  return nullptr;
}

QueuePair* AdapterPort::next_ready(Engine& engine) {
  for (QueuePair* queue_pair = ready_.front(); queue_pair != nullptr; queue_pair = ready_.next(queue_pair)) {
    if (!eligible(*queue_pair, engine)) continue;
    if (leaves_as_train(*queue_pair, engine) && !passes_itself(*queue_pair, engine)) continue;
    ready_.remove(queue_pair);
    return queue_pair;
  }
  return nullptr;
}

// Whether another packet of data may be fetched. A chunk is enough, but while one leaves packets of other
// queue pairs may, and leave between its own.
bool AdapterPort::has_room(const Engine& engine) const {
  const InputQueue& queue = engine.data.queue;
  if (queue.train != nullptr) return engine.data.ahead() == 0;
  const bool chunk = !queue.fifo.empty() && queue.fifo.back()->units() > Network::packets_per_turn;
  return !chunk && engine.data.ahead() < packets_ahead;
}

// Then only packets of its other stream may leave.
bool AdapterPort::leaves_as_train(const QueuePair& queue_pair, const Engine& engine) {
  const Train* const train = engine.data.queue.train;
  return train != nullptr && PacketBody::queue_pair_of(train->stream) == queue_pair.number();
}

// Whether the queue pair has something to send between the packets of its own train.
bool AdapterPort::passes_itself(const QueuePair& queue_pair, const Engine& engine) {
  return leaves_as_train(queue_pair, engine) &&
         queue_pair.has_work_beside(PacketBody::is_of_answers(engine.data.queue.train->stream));
}

// Of data. While others wait, a queue pair has no more than the rest of its turn.
Packet* AdapterPort::next_packet(Engine& engine) {
  while (true) {
    if (engine.serving == nullptr) {
      engine.serving = next_ready(engine);
      if (engine.serving == nullptr) return nullptr;
      engine.serving->in_service = true;
      engine.burst = Network::packets_per_service;
    }
    QueuePair& queue_pair = *engine.serving;
    if (engine.burst > 0 && queue_pair.port() == number_) {
      using Of = QueuePair::Of;
      const bool leaves = leaves_as_train(queue_pair, engine);
      const Of of = !leaves                                                      ? Of::both
                    : PacketBody::is_of_answers(engine.data.queue.train->stream) ? Of::requests
                                                                                 : Of::answers;
      const bool alone = ready_.empty();
      if (Packet* packet =
              queue_pair.next_packet(alone ? UINT32_MAX : static_cast<std::uint32_t>(engine.burst), of)) {
        engine.burst -= static_cast<int>(packet->units());
        pace(queue_pair, *packet, engine);
        enter_pipeline(engine, engine.data, queue_pair, *packet);
        return packet;
      }
      if (leaves) return nullptr;
    }
    engine.serving = nullptr;
    queue_pair.in_service = false;
    finish_service(queue_pair);
  }
}

void AdapterPort::enter_pipeline(Engine& engine, Outlet& outlet, QueuePair& queue_pair, Packet& packet) {
  const bool read_response = packet.kind == PacketKind::read_response;
  if (const Train* train = engine.data.queue.train; train != nullptr && &outlet == &engine.data) {
    packet.after_turn = queue_pair.turns == engine.round;
    if (packet.after_turn) ++engine.round;
    queue_pair.turns = engine.round;
    QueuePair* const first =
        packet.after_turn ? adapter_.find(PacketBody::queue_pair_of(train->stream)) : nullptr;
    if (first != nullptr && first->port() == number_ && first->ready_link.linked()) {
      ready_.remove(first);
      ready_.push_back(first);
    }
  }
  outlet.pipeline.push_back({&queue_pair, packet.stream(), read_response});
  queue_pair.engine = engine.data.queue.source;
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
  if (engine.running) return;  // a packet was dropped at once: the loop below goes on by itself
  engine.running = true;
  const Nanoseconds now = adapter_.now();
  while (engine.answers.ahead() < packets_ahead) {
    Packet* packet = next_urgent(engine);
    if (packet == nullptr) break;
    packet->tail = engine.rate.pass_between(now, packet->wire_bytes);
    leave(engine.answers, *packet);
  }
  while (engine.fetching == nullptr && has_room(engine)) {
    Packet* packet = next_packet(engine);
    if (packet == nullptr) break;
    const Nanoseconds ready = fetch(engine, *packet);
    if (ready > now) {
      engine.fetching = packet;
      adapter_.services().events.schedule(engine.fetch_event, ready);
    } else {
      leave(engine.data, *packet);
    }
  }
  engine.running = false;
}

// Returns when the packet may go to the network: a chunk when its first MTU has been fetched.
Nanoseconds AdapterPort::fetch(Engine& engine, Packet& packet) {
  const Nanoseconds now = adapter_.now();
  Nanoseconds head = now;
  packet.tail = now;
  const auto pass = [&](Serializer& way, std::uint64_t bytes) {
    if (way.unlimited()) return;
    const Nanoseconds before = std::max(now, way.free_at());
    const Nanoseconds first = (way.occupy(now, bytes) - before) / packet.units();
    const Nanoseconds early = packet.units() > 1 && engine.ready_before && before == now ? first : 0;
    head = std::max(head, before + first - early);
    packet.tail = std::max(packet.tail, way.free_at() - early);
  };
  pass(engine.rate, packet.wire_bytes);
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

void AdapterPort::fetched(Engine& engine) {
  Packet* packet = engine.fetching;
  engine.fetching = nullptr;
  leave(engine.data, *packet);
  run(engine);
}

void AdapterPort::source_has_room(int source, std::uint32_t stream) {
  const auto number = static_cast<std::size_t>(source);
  Engine& engine = *engines_[number % engines_.size()];
  Outlet& outlet = number < engines_.size() ? engine.data : engine.answers;
  leave_pipeline(outlet, stream);
  engine.ready_before = true;
  run(engine);
  engine.ready_before = false;
}

void AdapterPort::train_leaves(int source) {
  Engine& engine = *engines_[static_cast<std::size_t>(source) % engines_.size()];
  if (!ready_.empty() || (engine.serving != nullptr && passes_itself(*engine.serving, engine))) run(engine);
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
  if (!queue_pair->ready_link.linked() && !queue_pair->urgent_link.linked()) return;
  if (!doorbell_.scheduled()) adapter_.services().events.schedule(doorbell_, adapter_.now());
}

// ---- receiving ----

void AdapterPort::arrive(Packet& packet) {
  const Parameters& parameters = adapter_.services().parameters;
  const bool limited = parameters.receive_engine_rate != 0 || parameters.bus_rate != 0;
  if (limited && !packet.processing) {
    EventQueue& events = adapter_.services().events;
    QueuePair* queue_pair = adapter_.find(packet.destination_qp);
    const auto engine = static_cast<std::size_t>(queue_pair != nullptr ? queue_pair->receive_engine : 0);
    const Nanoseconds now = events.now();
    // The first MTU of a chunk is worked on while the others come, and the last when it has come.
    const Nanoseconds units = packet.units();
    const Nanoseconds first = now - (now - packet.head) / units * (units - 1);
    const auto pass = [&](Serializer& way, std::uint64_t bytes) {
      if (way.unlimited()) return now;
      const Nanoseconds begin = std::max(first, way.free_at());
      const Nanoseconds end = way.occupy(first, bytes);
      return std::max(end, now + (end - begin) / units);
    };
    const Nanoseconds done =
        std::max(pass(receive_engines_[engine % receive_engines_.size()], packet.wire_bytes),
                 pass(bus_.inward(), packet.payload.size));
    if (done > now) {
      packet.processing = true;
      events.schedule(packet, done);
      return;
    }
  }
  take(packet);
}

bool AdapterPort::meets_fault(Packet& packet) {
  const auto count_down = [](int& left) {
    if (left == 0) return false;
    if (left > 0) --left;
    return true;
  };
  if (packet.kind == PacketKind::acknowledge && count_down(lose_acknowledges)) return true;
  if (packet.payload.size > 0 && corrupt_payloads != 0 && count_down(corrupt_payloads))
    packet.corrupted = true;
  return false;
}

void AdapterPort::take(Packet& packet) {
  ++counters_.received_packets;
  counters_.received_bytes += packet.wire_bytes;
  if (packet.congestion_marked) ++counters_.marked;
  const bool mine =
      packet.destination_lid >= first_multicast_lid || (packet.destination_lid >> lmc()) == (lid() >> lmc());
  if (adapter_.dead() || !mine) {
    ++counters_.unclaimed;
  } else if (!meets_fault(packet)) {
    adapter_.deliver(packet);
  }
  adapter_.services().network.consume(packet);
}

}  // namespace hawser::fabric
