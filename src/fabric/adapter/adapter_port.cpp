#include "fabric/adapter/adapter_port.h"

#include <algorithm>

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
  set_gid(0, default_gid(link_local, adapter.services().topology.port(name()).guid));
  adapter.services().network.attach(index_, *this);
  active_ = adapter.services().network.usable(index_);
}

PortName AdapterPort::name() const { return {adapter_.node(), number_}; }

Lid AdapterPort::lid() const { return adapter_.services().tables.address(name()).base; }

int AdapterPort::lmc() const { return adapter_.services().tables.address(name()).lmc; }

void AdapterPort::set_gid(std::size_t index, const Gid& gid) {
  auto& directory = adapter_.services().gids;
  if (gids_[index] != Gid{}) directory.erase(gids_[index]);
  gids_[index] = gid;
  if (gid != Gid{}) directory[gid] = name();
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
  if (queue_pair.in_service || queue_pair.ready_link.linked()) return;
  ready_.push_back(&queue_pair);
  // A moment later, so that requests posted together are served together and no call goes deep.
  if (!doorbell_.scheduled()) adapter_.services().events.schedule(doorbell_, adapter_.now());
}

void AdapterPort::unqueue(QueuePair& queue_pair) {
  if (queue_pair.ready_link.linked()) ready_.remove(&queue_pair);
}

void AdapterPort::forget(QueuePair& queue_pair) {
  unqueue(queue_pair);
  for (auto& engine : engines_) {
    if (engine->serving == &queue_pair) engine->serving = nullptr;
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
}

void AdapterPort::run_fast() {
  while (QueuePair* queue_pair = ready_.pop_front()) {
    queue_pair->in_service = true;
    Packet* packet = nullptr;
    while (queue_pair->port() == number_ && (packet = queue_pair->next_packet()) != nullptr) {
      count_sent(*packet);
      if (!stays_here(*packet)) adapter_.services().network.send(index_, *packet);
    }
    finish_service(*queue_pair);
  }
}

// It goes to the end of the line; of another port's, when it has migrated.
void AdapterPort::finish_service(QueuePair& queue_pair) {
  queue_pair.in_service = false;
  if (queue_pair.has_work() && adapter_.valid_port(queue_pair.port()))
    adapter_.port(queue_pair.port()).kick(queue_pair);
}

Packet* AdapterPort::next_packet(Engine& engine) {
  while (true) {
    if (engine.serving == nullptr) {
      engine.serving = ready_.pop_front();
      if (engine.serving == nullptr) return nullptr;
      engine.serving->in_service = true;
      engine.burst = packets_per_turn;
    }
    QueuePair& queue_pair = *engine.serving;
    if (engine.burst > 0 && queue_pair.port() == number_) {
      if (Packet* packet = queue_pair.next_packet()) {
        --engine.burst;
        return packet;
      }
    }
    engine.serving = nullptr;
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
  while (engine.fetching == nullptr && ahead() < packets_ahead) {
    Packet* packet = next_packet(engine);
    if (packet == nullptr) return;
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
}

void AdapterPort::leave(Engine& engine, Packet& packet) {
  if (!stays_here(packet)) adapter_.services().network.submit(engine.out, packet);
}

void AdapterPort::fetched(Engine& engine) {
  Packet* packet = engine.fetching;
  engine.fetching = nullptr;
  leave(engine, *packet);
  run(engine);
}

void AdapterPort::source_has_room(int source) { run(*engines_[static_cast<std::size_t>(source)]); }

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
