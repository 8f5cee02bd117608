#include "fabric/adapter/adapter_port.h"

#include <algorithm>
#include <utility>

#include "fabric/adapter/adapter.h"

namespace hawser::fabric {
namespace {

constexpr std::size_t gid_table_size = 16;
constexpr int packets_per_turn = 16;        // then the next queue pair with work is served
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
    engine->out.port = index_;
    engine->out.source = i;
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

void AdapterPort::set_gid(std::size_t index, const GidEntry& entry) {
  auto& directory = adapter_.services().gids;
  const GidEntry before = std::exchange(gids_[index], entry);
  if (!before.empty() && std::find(gids_.begin(), gids_.end(), before) == gids_.end())
    directory.erase(before);
  if (!entry.empty()) directory[entry] = name();
}

bool AdapterPort::change_gid(std::size_t index, const GidEntry& entry) {
  const auto& directory = adapter_.services().gids;
  const auto owner = directory.find(entry);
  if (!entry.empty() && owner != directory.end() && owner->second != name()) return false;
  set_gid(index, entry);
  adapter_.broadcast({.type = AsyncEventType::gid_change, .port = number_});
  return true;
}

const PortName* AdapterPort::owner_of(const AddressVector& path) const {
  if (path.source_gid_index >= gids_.size()) return nullptr;
  const GidEntry& from = gids_[path.source_gid_index];
  const GidEntry to{path.destination_gid, from.type};
  const auto& directory = adapter_.services().gids;
  const auto owner = from.empty() || from.is_ipv4() != to.is_ipv4() ? directory.end() : directory.find(to);
  return owner == directory.end() ? nullptr : &owner->second;
}

bool AdapterPort::answers(const AddressVector& path) const {
  const PortName* const owner = owner_of(path);
  return active_ && owner != nullptr &&
         adapter_.services().network.usable(adapter_.services().network.index(*owner));
}

void AdapterPort::move_gid(std::size_t from, std::size_t to) {
  std::swap(gids_[from], gids_[to]);
  adapter_.broadcast({.type = AsyncEventType::gid_change, .port = number_});
}

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
  enqueue(queue_pair);
  // A moment later, so that requests posted together are served together and no call goes deep.
  if (!doorbell_.scheduled()) adapter_.services().events.schedule(doorbell_, adapter_.now());
}

void AdapterPort::enqueue(QueuePair& queue_pair) {
  if (queue_pair.has_urgent()) {
    if (!queue_pair.urgent_link.linked()) urgent_.push_back(&queue_pair);
  } else if (!queue_pair.in_service && !queue_pair.ready_link.linked() && queue_pair.has_work()) {
    if (!held_back(queue_pair)) ready_.push_back(&queue_pair);
  }
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
    std::replace(engine->pipeline.begin(), engine->pipeline.end(), &queue_pair,
                 static_cast<QueuePair*>(nullptr));
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
}

void AdapterPort::run_fast() {
  const auto send = [this](Packet& packet) {
    count_sent(packet);
    if (!stays_here(packet)) adapter_.services().network.send(index_, packet);
  };
  while (QueuePair* queue_pair = urgent_.pop_front()) {
    while (Packet* packet = queue_pair->port() == number_ ? queue_pair->next_answer() : nullptr)
      send(*packet);
    finish_service(*queue_pair);
  }
  while (QueuePair* queue_pair = ready_.pop_front()) {
    queue_pair->in_service = true;
    Packet* packet = nullptr;
    while (queue_pair->port() == number_ && (packet = queue_pair->next_packet()) != nullptr) send(*packet);
    queue_pair->in_service = false;
    finish_service(*queue_pair);
  }
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
  return queue_pair.in_pipeline == 0 || queue_pair.engine == engine.out.source;
}

Packet* AdapterPort::next_urgent(Engine& engine) {
  for (QueuePair* queue_pair = urgent_.front(); queue_pair != nullptr;) {
    QueuePair* const next = urgent_.next(queue_pair);
    const bool here = queue_pair->port() == number_;
    if (here && !eligible(*queue_pair, engine)) {
      queue_pair = next;
      continue;
    }
    urgent_.remove(queue_pair);
    Packet* packet = here ? queue_pair->next_answer() : nullptr;
    if (packet != nullptr) {
      engine.pipeline.push_back(queue_pair);
      return packet;  // what more it has is looked at when this one is in the pipeline
    }
    finish_service(*queue_pair);
    queue_pair = next;
  }
  return nullptr;
}

QueuePair* AdapterPort::next_ready(Engine& engine) {
  for (QueuePair* queue_pair = ready_.front(); queue_pair != nullptr; queue_pair = ready_.next(queue_pair)) {
    if (!eligible(*queue_pair, engine)) continue;
    ready_.remove(queue_pair);
    return queue_pair;
  }
  return nullptr;
}

// Puts the queue pair that the packet is of at the end of the engine's pipeline.
Packet* AdapterPort::next_packet(Engine& engine) {
  if (Packet* packet = next_urgent(engine)) return packet;
  while (true) {
    if (engine.serving == nullptr) {
      engine.serving = next_ready(engine);
      if (engine.serving == nullptr) return nullptr;
      engine.serving->in_service = true;
      engine.burst = packets_per_turn;
    }
    QueuePair& queue_pair = *engine.serving;
    if (engine.burst > 0 && queue_pair.port() == number_) {
      if (Packet* packet = queue_pair.next_packet()) {
        --engine.burst;
        pace(queue_pair, *packet, engine);
        engine.pipeline.push_back(&queue_pair);
        return packet;
      }
    }
    engine.serving = nullptr;
    queue_pair.in_service = false;
    finish_service(queue_pair);
  }
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
  EventQueue& events = adapter_.services().events;
  // A packet that is crossing has left the queue, but counts until its tail is out.
  const auto ahead = [&] {
    return engine.out.fifo.size() + (engine.out.pending != 0 && engine.out.unstarted == 0 ? 1 : 0);
  };
  if (engine.running) return;  // a packet was dropped at once: the loop below goes on by itself
  engine.running = true;
  while (engine.fetching == nullptr && ahead() < packets_ahead) {
    Packet* packet = next_packet(engine);
    if (packet == nullptr) break;
    QueuePair& owner = *engine.pipeline.back();
    owner.engine = engine.out.source;
    ++owner.in_pipeline;
    finish_service(owner);
    count_sent(*packet);
    const Nanoseconds now = events.now();
    Nanoseconds fetched = std::max(engine.rate.occupy(now, packet->wire_bytes),
                                   bus_.outward().occupy(now, packet->payload.size));
    if (is_mine(packet->destination_lid)) fetched = std::max(fetched, loop_.occupy(now, packet->wire_bytes));
    if (fetched > now) {
      engine.fetching = packet;
      events.schedule(engine.fetch_event, fetched);
    } else {
      leave(engine, *packet);
    }
  }
  engine.running = false;
}

void AdapterPort::leave(Engine& engine, Packet& packet) {
  if (!stays_here(packet)) {
    adapter_.services().network.submit(engine.out, packet);
    return;
  }
  QueuePair* owner = engine.pipeline.back();
  engine.pipeline.pop_back();
  leave_pipeline(owner);
}

void AdapterPort::fetched(Engine& engine) {
  Packet* packet = engine.fetching;
  engine.fetching = nullptr;
  leave(engine, *packet);
  run(engine);
}

void AdapterPort::source_has_room(int source) {
  Engine& engine = *engines_[static_cast<std::size_t>(source)];
  QueuePair* owner = engine.pipeline.front();
  engine.pipeline.pop_front();
  run(engine);
  leave_pipeline(owner);
}

// The queue pair may go to another engine now: one that found nothing to do looks again.
void AdapterPort::leave_pipeline(QueuePair* queue_pair) {
  if (queue_pair == nullptr || --queue_pair->in_pipeline > 0 || engines_.size() == 1) return;
  if (!queue_pair->ready_link.linked() && !queue_pair->urgent_link.linked()) return;
  if (!doorbell_.scheduled()) adapter_.services().events.schedule(doorbell_, adapter_.now());
}

// ---- receiving ----

void AdapterPort::arrive(Packet& packet) {
  if (!packet.processing) {
    EventQueue& events = adapter_.services().events;
    QueuePair* queue_pair = adapter_.find(packet.destination_qp);
    const auto engine = static_cast<std::size_t>(queue_pair != nullptr ? queue_pair->receive_engine : 0);
    const Nanoseconds now = events.now();
    const Nanoseconds done =
        std::max(receive_engines_[engine % receive_engines_.size()].occupy(now, packet.wire_bytes),
                 bus_.inward().occupy(now, packet.payload.size));
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
