#include "fabric/adapter/adapter.h"

#include <algorithm>
#include <cerrno>

namespace hawser::fabric {

// ---- adapter ----

Adapter::Adapter(const FabricServices& services, std::int32_t node)
    : services_(services), node_(node), memory_(static_cast<std::uint32_t>(node)) {
  limits_.max_message = services.parameters.max_message;
  limits_.max_qp = services.parameters.queue_pairs;
  bus_.half_duplex = services.parameters.bus_half_duplex;
  bus_.out.set_rate(services.parameters.bus_rate);
  bus_.in.set_rate(services.parameters.bus_rate);
  for (int p = 1; p <= description().port_count(); ++p)
    ports_.push_back(std::make_unique<AdapterPort>(*this, p, bus_));
}

Adapter::~Adapter() {
  while (!contexts_.empty()) close(*contexts_.begin()->second);
}

Context& Adapter::open(SpaceId space, ContextPort& port) {
  const std::uint32_t number = next_context_++;
  auto& context = contexts_[number];
  context = std::make_unique<Context>(*this, space, port, number);
  if (dead_) context->set_defunct();
  return *context;
}

void Adapter::close(Context& context) { contexts_.erase(context.number()); }

QueuePair* Adapter::find(std::uint32_t number) const {
  const auto entry = queue_pairs_.find(number);
  return entry == queue_pairs_.end() ? nullptr : entry->second;
}

// Numbers are not used again soon, so that a packet of an old queue pair finds nobody rather than a stranger.
std::uint32_t Adapter::next_qp_number() {
  do {
    next_qp_ = next_qp_ + 1 >= 0xffffff ? 0x40 : next_qp_ + 1;
  } while (queue_pairs_.contains(next_qp_));
  return next_qp_;
}

void Adapter::attach(QueuePair& queue_pair) { queue_pairs_[queue_pair.number()] = &queue_pair; }

void Adapter::detach(QueuePair& queue_pair) {
  queue_pairs_.erase(queue_pair.number());
  for (auto& port : ports_) port->forget(queue_pair);
}

SharedReceiveQueue* Adapter::find_xrc(std::uint32_t number, std::uint32_t xrc_domain) const {
  const auto entry = xrc_queues_.find(number);
  return entry != xrc_queues_.end() && entry->second->xrc_domain == xrc_domain ? entry->second : nullptr;
}

void Adapter::attach_xrc(SharedReceiveQueue& queue) { xrc_queues_[queue.number] = &queue; }

void Adapter::detach_xrc(SharedReceiveQueue& queue) {
  xrc_queues_.erase(queue.number);
  for (auto& [number, queue_pair] : queue_pairs_) queue_pair->responder().forget(queue);
}

void Adapter::deliver(Packet& packet) {
  if (packet.destination_lid < first_multicast_lid) {
    if (packet.destination_qp == management_qp) [[unlikely]]
      return services_.management.receive(*this, packet);
    if (QueuePair* queue_pair = find(packet.destination_qp)) queue_pair->receive(packet);
    return;
  }
  // To every queue pair attached to the group, in order of their numbers, but not back to the sender.
  for (auto& [number, context] : contexts_) {
    for (auto& [qp_number, queue_pair] : context->queue_pairs_) {
      if (packet.source_qp == qp_number && packet.source_port == port(queue_pair->port()).index()) continue;
      for (const QueuePair::Multicast& group : queue_pair->multicast()) {
        if (packet.has_grh ? group.gid != packet.destination_gid : group.lid != packet.destination_lid)
          continue;
        queue_pair->receive(packet);
        break;
      }
    }
  }
}

DmaResult Adapter::place_payload(const Packet& packet, std::uint64_t skip, SpaceId space,
                                 std::span<const Piece> pieces) {
  const Payload& payload = packet.payload;
  DmaResult result = DmaResult::done;
  if (payload.bytes != nullptr) {
    const std::byte* bytes = payload.bytes->data() + payload.bytes_offset + skip;
    result = services_.dma.write(space, pieces, bytes);
  } else if (skip == 0) {
    result = services_.dma.copy(space, pieces, payload.space, {payload.pieces.data(), payload.piece_count});
  } else {
    // A packet that was cut anew after a loss begins with bytes that are here already.
    std::vector<Piece> rest;
    for (std::size_t i = 0; i < payload.piece_count; ++i) {
      const std::uint64_t cut = std::min(skip, payload.pieces[i].length);
      skip -= cut;
      if (cut < payload.pieces[i].length) {
        rest.push_back({payload.pieces[i].address + cut, payload.pieces[i].length - cut});
      }
    }
    result = services_.dma.copy(space, pieces, payload.space, rest);
  }
  if (result != DmaResult::done || !packet.corrupted || pieces.empty()) [[likely]]
    return result;
  const Piece first{pieces.front().address, 1};
  std::byte byte{};
  if (!services_.dma.read(space, {&first, 1}, &byte)) return DmaResult::destination_gone;
  byte ^= std::byte{0x40};
  return services_.dma.write(space, {&first, 1}, &byte);
}

void Adapter::broadcast(const AsyncEvent& event) {
  services_.trace.note(TraceKind::async_event, now(), static_cast<std::uint64_t>(event.type),
                       static_cast<std::uint64_t>(node_));
  for (auto& [number, context] : contexts_)
    if (!context->defunct()) context->port().asynchronous_event(event);
}

void Adapter::set_dead(bool dead) {
  if (dead_ == dead && !dying_) return;
  if (dying_ && !dead) set_dead(true);
  dying_ = false;
  dead_ = dead;
  services_.network.set_node_alive(node_, !dead);
  if (dead) {
    broadcast({.type = AsyncEventType::device_fatal});
    for (auto& [number, context] : contexts_) context->set_defunct();
  }
  for (auto& port : ports_) port->refresh();
}

// The queue is lost, and with it every queue pair that reports to it.
void Adapter::overflow(CompletionQueue& queue) {
  if (queue.overflowed) return;
  queue.overflowed = true;
  queue.context.port().asynchronous_event({.type = AsyncEventType::cq_error, .completion_queue = &queue});
  for (auto& [number, queue_pair] : queue.context.queue_pairs()) {
    const auto& configuration = queue_pair->configuration();
    if (configuration.send_queue == &queue || configuration.receive_queue == &queue) queue_pair->kill();
  }
}

void Adapter::check_invariants() const {
  for (const auto& [number, context] : contexts_) context->check_invariants();
}

// ---- context ----

Context::Context(Adapter& adapter, SpaceId space, ContextPort& port, std::uint32_t number)
    : adapter_(adapter), space_(space), port_(port), number_(number) {}

Context::~Context() {
  while (!opened_.empty()) destroy_queue_pair(opened_.begin()->second);
  for (auto each = queue_pairs_.begin(); each != queue_pairs_.end();) {
    QueuePair& queue_pair = *(each++)->second;
    hand_over(queue_pair);
  }
  queue_pairs_.clear();
  for (auto& [number, queue] : shared_receive_queues_) release_xrc(*queue);
  while (!windows_.empty()) destroy_window(*windows_.begin()->second);
  for (auto& [key, region] : regions_) adapter_.memory().remove(*region);
}

ProtectionDomain* Context::create_domain() {
  const std::uint32_t number = next_number_++;
  auto& domain = domains_[number];
  domain.reset(new ProtectionDomain{*this, number, 0});
  return domain.get();
}

Outcome Context::destroy_domain(ProtectionDomain* domain) {
  if (domain->users != 0) return {EBUSY, "the protection domain is in use"};
  domains_.erase(domain->number);
  return {};
}

CompletionQueue* Context::create_completion_queue(CompletionPort& port, std::uint64_t cookie) {
  const std::uint32_t number = next_number_++;
  auto& queue = completion_queues_[number];
  queue.reset(new CompletionQueue{*this, port, number, cookie});
  return queue.get();
}

Outcome Context::destroy_completion_queue(CompletionQueue* queue) {
  if (queue->users != 0) return {EBUSY, "queue pairs use the completion queue"};
  completion_queues_.erase(queue->number);
  return {};
}

Outcome Context::create_shared_receive_queue(ProtectionDomain& domain, std::uint32_t capacity,
                                             std::uint32_t segments, std::uint64_t cookie,
                                             SharedReceiveQueue** out) {
  const AdapterLimits& limits = adapter_.limits();
  if (capacity == 0 || capacity > limits.max_srq_wr || segments > limits.max_sge) {
    return {EINVAL, "a shared receive queue of that size is not possible"};
  }
  const std::uint32_t number = adapter_.next_srq_number();
  auto& queue = shared_receive_queues_[number];
  queue.reset(new SharedReceiveQueue{*this, domain, ReceiveQueue(capacity, segments), number, cookie, 0, 0, 0,
                                     nullptr});
  queue->queue.cookie = cookie;
  ++domain.users;
  *out = queue.get();
  return {};
}

Outcome Context::create_xrc_receive_queue(ProtectionDomain& domain, std::uint32_t capacity,
                                          std::uint32_t segments, std::uint64_t cookie,
                                          std::uint32_t xrc_domain, CompletionQueue& completions,
                                          SharedReceiveQueue** out) {
  if (xrc_domain == 0) return {EINVAL, "0 is no XRC domain"};
  const Outcome created = create_shared_receive_queue(domain, capacity, segments, cookie, out);
  if (!created.ok()) return created;
  (*out)->xrc_domain = xrc_domain;
  (*out)->completion_queue = &completions;
  ++completions.users;
  adapter_.attach_xrc(**out);
  return {};
}

Outcome Context::set_limit(SharedReceiveQueue& queue, std::uint32_t limit) {
  if (limit > queue.queue.capacity()) return {EINVAL, "the limit exceeds the queue"};
  queue.limit = limit;
  return {};
}

Outcome Context::destroy_shared_receive_queue(SharedReceiveQueue* queue) {
  if (queue->users != 0) return {EBUSY, "queue pairs use the shared receive queue"};
  release_xrc(*queue);
  --queue->domain.users;
  shared_receive_queues_.erase(queue->number);
  return {};
}

void Context::release_xrc(SharedReceiveQueue& queue) {
  if (queue.xrc_domain == 0) return;
  adapter_.detach_xrc(queue);
  --queue.completion_queue->users;
}

Outcome Context::create_queue_pair(const QueuePair::Configuration& configuration, QueuePair** out) {
  const AdapterLimits& limits = adapter_.limits();
  const QpCapabilities& caps = configuration.capabilities;
  const bool target = configuration.type == QpType::xrc_recv;
  const bool sends = configuration.domain != nullptr && configuration.send_queue != nullptr;
  const bool receives = configuration.receive_queue != nullptr || configuration.type == QpType::xrc_send;
  if (target && configuration.xrc_domain == 0) return {EINVAL, "an XRC target needs an XRC domain"};
  if (!target && !(sends && receives)) {
    return {EINVAL, "a queue pair needs a protection domain and completion queues"};
  }
  if (caps.max_send_wr > limits.max_qp_wr || caps.max_recv_wr > limits.max_qp_wr ||
      caps.max_send_sge > limits.max_sge || caps.max_recv_sge > limits.max_sge ||
      caps.max_inline_data > limits.max_inline) {
    return {EINVAL, "the queue pair's capabilities exceed the adapter's"};
  }
  if (defunct_) return {EIO, "the adapter is dead"};
  const std::uint32_t number = adapter_.next_qp_number();
  auto& queue_pair = queue_pairs_[number];
  queue_pair = std::make_unique<QueuePair>(adapter_, *this, number, configuration);
  *out = queue_pair.get();
  return {};
}

Outcome Context::open_queue_pair(std::uint32_t number, std::uint32_t xrc_domain, QueuePair** out) {
  QueuePair* const found = adapter_.find(number);
  if (found == nullptr || found->configuration().type != QpType::xrc_recv ||
      found->configuration().xrc_domain != xrc_domain) {
    return {EINVAL, "the XRC domain has no such target"};
  }
  if (&found->context() == this || opened_.contains(number)) return {EBUSY, "opened by this client already"};
  opened_[number] = found;
  found->openers().push_back(this);
  *out = found;
  return {};
}

// To the first of the others that have it open; false when there is none.
bool Context::hand_over(QueuePair& queue_pair) {
  if (queue_pair.openers().empty()) return false;
  Context& heir = *queue_pair.openers().front();
  queue_pair.move_to(heir);
  heir.opened_.erase(queue_pair.number());
  auto entry = queue_pairs_.extract(queue_pair.number());
  heir.queue_pairs_.insert(std::move(entry));
  return true;
}

Outcome Context::destroy_queue_pair(QueuePair* queue_pair) {
  if (&queue_pair->context() != this) {
    std::erase(queue_pair->openers(), this);
    opened_.erase(queue_pair->number());
    return {};
  }
  if (hand_over(*queue_pair)) return {};
  if (!queue_pair->multicast().empty()) return {EBUSY, "the queue pair is attached to multicast groups"};
  if (queue_pair->configuration().type == QpType::ud && adapter_.valid_port(queue_pair->port()))
    adapter_.port(queue_pair->port()).send_posted(*queue_pair);
  queue_pairs_.erase(queue_pair->number());
  return {};
}

void Context::check_invariants() const {
  for (const auto& [number, queue_pair] : queue_pairs_) queue_pair->check_invariants();
}

}  // namespace hawser::fabric
