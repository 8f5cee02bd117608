#include "verbs/session.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "verbs/session_objects.h"

namespace hawser::verbs {
namespace {

Reply refused(int error, const char* why) {
  Reply reply;
  reply.error = error;
  std::strncpy(reply.why, why, sizeof reply.why - 1);
  return reply;
}

Reply answer(const fabric::Outcome& outcome) { return refused(outcome.error, outcome.why); }

Reply created(std::uint32_t number) {
  Reply reply;
  reply.object = number;
  return reply;
}

template <class Map>
auto find(const Map& map, std::uint32_t number) {
  const auto entry = map.find(number);
  return entry == map.end() ? nullptr : &*entry->second;
}

}  // namespace

AdapterFacts facts_of(const fabric::Adapter& adapter, const std::string& name) {
  AdapterFacts facts;
  std::strncpy(facts.name, name.c_str(), sizeof facts.name - 1);
  facts.guid = adapter.description().guid;
  facts.ports = static_cast<std::uint32_t>(adapter.port_count());
  const fabric::AdapterLimits& limits = adapter.limits();
  facts.max_qp = limits.max_qp;
  facts.max_qp_wr = limits.max_qp_wr;
  facts.max_sge = limits.max_sge;
  facts.max_cqe = limits.max_cqe;
  facts.max_inline = limits.max_inline;
  facts.max_srq_wr = limits.max_srq_wr;
  facts.max_rd_atomic = limits.max_rd_atomic;
  return facts;
}

Session::Session(fabric::Fabric& fabric, fabric::Adapter& adapter, fabric::SpaceId space, SessionPort& port)
    : fabric_(fabric), adapter_(adapter), port_(port), context_(adapter.open(space, *this)) {}

Session::~Session() { adapter_.close(context_); }

void Session::asynchronous_event(const fabric::AsyncEvent& event) {
  AsyncRecord record;
  record.type = static_cast<std::uint32_t>(event.type);
  if (event.queue_pair != nullptr) {
    record.kind = AsyncRecord::queue_pair;
    record.number = event.queue_pair->number();
  } else if (event.completion_queue != nullptr) {
    record.kind = AsyncRecord::completion_queue;
    record.number = event.completion_queue->number;
  } else if (event.shared_receive_queue != nullptr) {
    record.kind = AsyncRecord::shared_receive_queue;
    record.number = event.shared_receive_queue->number;
  } else if (event.port != 0) {
    record.kind = AsyncRecord::port;
    record.number = static_cast<std::uint32_t>(event.port);
  }
  port_.async_event(record);
}

Reply Session::execute(const Request& request, const RingMemory& memory) {
  switch (request.call) {
    case Call::query_port:
      return query_port(request);
    case Call::query_gid: {
      if (!adapter_.valid_port(static_cast<int>(request.number))) return refused(EINVAL, "no such port");
      const auto& gids = adapter_.port(static_cast<int>(request.number)).gids();
      if (request.index >= gids.size()) return refused(EINVAL, "the table has no such entry");
      Reply reply;
      reply.gid = gids[request.index];
      return reply;
    }
    case Call::create_domain: {
      fabric::ProtectionDomain* domain = context_.create_domain();
      domains_[domain->number] = domain;
      return created(domain->number);
    }
    case Call::register_memory:
      return register_memory(request);
    case Call::create_completion_queue:
      return create_completion_queue(request, memory);
    case Call::create_shared_receive_queue:
      return create_shared_receive_queue(request, memory);
    case Call::set_limit:
    case Call::query_shared_receive_queue:
      return change_shared_receive_queue(request);
    case Call::create_queue_pair:
      return create_queue_pair(request, memory);
    case Call::modify_queue_pair:
    case Call::query_queue_pair:
    case Call::attach_multicast:
    case Call::detach_multicast:
      return change_queue_pair(request);
    case Call::destroy_domain:
    case Call::deregister_memory:
    case Call::destroy_completion_queue:
    case Call::destroy_shared_receive_queue:
    case Call::destroy_queue_pair:
      return destroy(request);
    case Call::list_adapters:
    case Call::open_adapter:
    case Call::create_channel:
    case Call::destroy_channel:
    case Call::command:
      break;
  }
  return refused(EINVAL, "not a call to an open adapter");
}

Reply Session::query_port(const Request& request) const {
  const int number = static_cast<int>(request.number);
  if (!adapter_.valid_port(number)) return refused(EINVAL, "no such port");
  const fabric::AdapterPort& port = adapter_.port(number);
  const fabric::Parameters& parameters = fabric_.parameters();
  Reply reply;
  PortFacts& facts = reply.port;
  facts.active = port.active();
  facts.ethernet = parameters.link_layer == fabric::LinkLayer::ethernet;
  facts.lid = port.lid();
  facts.lmc = static_cast<std::uint32_t>(port.lmc());
  facts.sm_lid = 1;
  facts.mtu = 4096;
  facts.active_mtu = parameters.mtu;
  facts.gid_entries = static_cast<std::uint32_t>(port.gids().size());
  facts.max_message = adapter_.limits().max_message;
  facts.rate = parameters.link_rate;
  return reply;
}

Reply Session::register_memory(const Request& request) {
  fabric::ProtectionDomain* domain = find(domains_, request.domain);
  if (domain == nullptr) return refused(EINVAL, "no such protection domain");
  fabric::MemoryRegion* region = nullptr;
  const fabric::Outcome made = context_.register_memory(*domain, request.address, request.length,
                                                        request.virtual_address, request.access, &region);
  if (!made.ok()) return answer(made);
  regions_[region->key] = region;
  return created(region->key);
}

Reply Session::create_completion_queue(const Request& request, const RingMemory& memory) {
  if (request.capacity == 0 || request.capacity > adapter_.limits().max_cqe)
    return refused(EINVAL, "a completion queue of that size is not possible");
  auto made = std::make_unique<Completions>(*this);
  made->shape = completion_queue_shape(request.capacity);
  if (memory.bytes == nullptr || memory.size < made->shape.end()) return refused(EINVAL, "no memory");
  made->memory = memory;
  made->capacity = request.capacity;
  made->channel = request.channel;
  made->queue = context_.create_completion_queue(*made, 0);
  const std::uint32_t number = made->queue->number;
  completion_queues_[number] = std::move(made);
  return created(number);
}

Reply Session::create_shared_receive_queue(const Request& request, const RingMemory& memory) {
  fabric::ProtectionDomain* domain = find(domains_, request.domain);
  if (domain == nullptr) return refused(EINVAL, "no such protection domain");
  const fabric::AdapterLimits& limits = adapter_.limits();
  if (request.capacity > limits.max_srq_wr || request.segments > limits.max_sge)
    return refused(EINVAL, "a shared receive queue of that size is not possible");
  auto made = std::make_unique<SharedReceives>();
  ReceiveRing& ring = made->ring;
  ring.shape = receive_queue_shape(request.capacity, request.segments);
  if (memory.bytes == nullptr || memory.size < ring.shape.end()) return refused(EINVAL, "no memory");
  ring.memory = memory;
  ring.indices = &reinterpret_cast<ReceiveQueueHeader*>(memory.bytes.get())->receives;
  ring.most_segments = request.segments;
  const fabric::Outcome outcome = context_.create_shared_receive_queue(
      *domain, request.capacity, request.segments, reinterpret_cast<std::uint64_t>(&ring), &made->queue);
  if (!outcome.ok()) return answer(outcome);
  const std::uint32_t number = made->queue->number;
  shared_receive_queues_[number] = std::move(made);
  return created(number);
}

Reply Session::create_queue_pair(const Request& request, const RingMemory& memory) {
  Completions* const sends = find(completion_queues_, request.send_queue);
  Completions* const receives = find(completion_queues_, request.receive_queue);
  SharedReceives* const shared = find(shared_receive_queues_, request.shared_receive_queue);
  if (sends == nullptr || receives == nullptr) return refused(EINVAL, "no such completion queue");
  if (request.shared_receive_queue != 0 && shared == nullptr)
    return refused(EINVAL, "no such shared receive queue");
  if (queue_pairs_.size() >= std::min(most_queue_pairs, adapter_.limits().max_qp))
    return refused(ENOMEM, "there are no more queue pairs");
  const fabric::QpCapabilities& caps = request.capabilities;
  const fabric::AdapterLimits& limits = adapter_.limits();
  if (caps.max_send_wr > limits.max_qp_wr || caps.max_recv_wr > limits.max_qp_wr ||
      caps.max_send_sge > limits.max_sge || caps.max_recv_sge > limits.max_sge ||
      caps.max_inline_data > limits.max_inline)
    return refused(EINVAL, "the queue pair's capabilities exceed the adapter's");
  auto made = std::make_unique<Pair>();
  const QueuePairShape shape(caps);
  if (memory.bytes == nullptr || memory.size < shape.bytes()) return refused(EINVAL, "no memory");
  made->memory = made->receives.memory = memory;
  made->sends = shape.sends;
  made->receives.shape = shape.receives;
  made->receives.indices = &made->header().receives;
  made->receives.eager = &made->header().eager;
  made->receives.most_segments = caps.max_recv_sge;
  made->send_completions = sends;
  made->shared = shared;
  made->capabilities = caps;
  fabric::QueuePair::Configuration configuration;
  configuration.type = request.type;
  configuration.domain = find(domains_, request.domain);
  configuration.send_queue = sends->queue;
  configuration.receive_queue = receives->queue;
  configuration.shared_receive_queue = shared != nullptr ? shared->queue : nullptr;
  configuration.capabilities = caps;
  configuration.signal_all = request.signal_all != 0;
  // The model's own receive queue stays empty when receives are shared.
  configuration.cookie = shared != nullptr ? 0 : reinterpret_cast<std::uint64_t>(&made->receives);
  if (request.type != fabric::QpType::rc && request.type != fabric::QpType::uc &&
      request.type != fabric::QpType::ud)
    return refused(EOPNOTSUPP, "queue pairs are RC, UC or UD");
  const fabric::Outcome outcome = context_.create_queue_pair(configuration, &made->queue_pair);
  if (!outcome.ok()) return answer(outcome);
  made->receives.queue_pair = made->queue_pair;
  const std::uint32_t number = made->queue_pair->number();
  queue_pairs_[number] = std::move(made);
  return created(number);
}

Reply Session::change_queue_pair(const Request& request) {
  Pair* const pair = find(queue_pairs_, request.object);
  if (pair == nullptr) return refused(EINVAL, "no such queue pair");
  fabric::QueuePair& queue_pair = *pair->queue_pair;
  const auto lid = static_cast<fabric::Lid>(request.lid);
  if (request.call == Call::attach_multicast) return answer(queue_pair.attach_multicast(request.gid, lid));
  if (request.call == Call::detach_multicast) return answer(queue_pair.detach_multicast(request.gid, lid));
  if (request.call == Call::modify_queue_pair) {
    drain_sends(*pair);  // what was posted before comes first
    const fabric::Outcome outcome = queue_pair.modify(request.attributes, request.mask);
    if (!outcome.ok()) return answer(outcome);
    if ((request.mask & fabric::mask_state) != 0 && request.attributes.state == fabric::QpState::reset)
      forget_rings(*pair);
    update_retired(*pair);
  }
  Reply reply;
  reply.attributes = queue_pair.attributes();
  reply.capabilities = pair->capabilities;
  reply.draining = queue_pair.draining();
  return reply;
}

Reply Session::change_shared_receive_queue(const Request& request) {
  SharedReceives* const shared = find(shared_receive_queues_, request.object);
  if (shared == nullptr) return refused(EINVAL, "no such shared receive queue");
  if (request.call == Call::set_limit) {
    const fabric::Outcome outcome = context_.set_limit(*shared->queue, request.limit);
    if (!outcome.ok()) return answer(outcome);
  }
  Reply reply;
  reply.limit = shared->queue->limit;
  return reply;
}

Reply Session::destroy(const Request& request) {
  const std::uint32_t number = request.object;
  const auto finish = [&](auto& map, auto* object, auto&& destroy_it) {
    if (object == nullptr) return refused(EINVAL, "no such object");
    const fabric::Outcome outcome = destroy_it();
    if (!outcome.ok()) return answer(outcome);
    map.erase(number);
    return Reply{};
  };
  if (request.call == Call::destroy_domain) {
    auto* const domain = find(domains_, number);
    return finish(domains_, domain, [&] { return context_.destroy_domain(domain); });
  }
  if (request.call == Call::deregister_memory) {
    auto* const region = find(regions_, number);
    return finish(regions_, region, [&] { return context_.deregister_memory(*region); });
  }
  if (request.call == Call::destroy_completion_queue) {
    auto* const queue = find(completion_queues_, number);
    return finish(completion_queues_, queue, [&] { return context_.destroy_completion_queue(queue->queue); });
  }
  if (request.call == Call::destroy_shared_receive_queue) {
    auto* const queue = find(shared_receive_queues_, number);
    return finish(shared_receive_queues_, queue,
                  [&] { return context_.destroy_shared_receive_queue(queue->queue); });
  }
  auto* const pair = find(queue_pairs_, number);
  return finish(queue_pairs_, pair, [&] { return context_.destroy_queue_pair(pair->queue_pair); });
}

}  // namespace hawser::verbs
