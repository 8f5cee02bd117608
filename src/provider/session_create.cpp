// Session: making objects.
#include <cerrno>
#include <optional>

#include "provider/session_objects.h"

namespace hawser::verbs {

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
  made->shape = CompletionQueueShape(request.capacity);
  if (memory.bytes == nullptr || memory.size < made->shape.bytes()) return refused(EINVAL, "no memory");
  made->memory = memory;
  made->capacity = request.capacity;
  made->channel = request.channel;
  made->queue = context_.create_completion_queue(*made, 0);
  const std::uint32_t number = made->queue->number;
  completion_queues_[number] = std::move(made);
  return created(number);
}

// The client holds still meanwhile: it neither polls nor arms the queue before it has the answer.
Reply Session::resize_completion_queue(const Request& request, const RingMemory& memory) {
  Completions* const queue = find(completion_queues_, request.object);
  if (queue == nullptr) return refused(EINVAL, "no such completion queue");
  CompletionQueueHeader& from = queue->header();
  const std::uint64_t consumed = from.entries.consumed.load(std::memory_order_acquire);
  if (request.capacity == 0 || request.capacity > adapter_.limits().max_cqe ||
      queue->produced - consumed > request.capacity)
    return refused(EINVAL, "a completion queue of that size is not possible");
  const CompletionQueueShape shape(request.capacity);
  if (memory.bytes == nullptr || memory.size < shape.bytes()) return refused(EINVAL, "no memory");
  const auto move = [&](const RingShape& to, const RingShape& from, std::size_t bytes) {
    for (std::uint64_t i = consumed; i != queue->produced; ++i)
      std::memcpy(to.slot(memory.bytes.get(), i), from.slot(queue->memory.bytes.get(), i), bytes);
  };
  move(shape.entries, queue->shape.entries, sizeof(CompletionEntry));
  move(shape.carried, queue->shape.carried, most_carried);
  auto& to = *reinterpret_cast<CompletionQueueHeader*>(memory.bytes.get());
  to.entries.produced.store(queue->produced, std::memory_order_seq_cst);
  to.entries.consumed.store(consumed, std::memory_order_seq_cst);
  to.told.store(queue->told, std::memory_order_seq_cst);
  to.armed.store(from.armed.load(std::memory_order_seq_cst), std::memory_order_seq_cst);
  queue->memory = memory;
  queue->shape = shape;
  queue->capacity = request.capacity;
  return {};
}

// Of another size, in other places, or with other rights, under the same key. The numbers of the mask are
// those of ibv_rereg_mr.
Reply Session::change_memory(const Request& request) {
  enum : std::uint32_t { change_translation = 1, change_domain = 2, change_access = 4 };
  fabric::MemoryRegion* const region = find(regions_, request.object);
  if (region == nullptr) return refused(EINVAL, "no such region");
  fabric::Context::MemoryChange change;
  if ((request.mask & change_domain) != 0) {
    change.domain = find(domains_, request.domain);
    if (change.domain == nullptr) return refused(EINVAL, "no such protection domain");
  }
  change.translation = (request.mask & change_translation) != 0;
  change.address = request.address;
  change.length = request.length;
  change.virtual_address = request.virtual_address;
  change.rights = (request.mask & change_access) != 0;
  change.access = request.access;
  settle_region(*region);
  return answer(context_.change_memory(*region, change));
}

Reply Session::create_window(const Request& request) {
  fabric::ProtectionDomain* domain = find(domains_, request.domain);
  if (domain == nullptr) return refused(EINVAL, "no such protection domain");
  using Kind = fabric::MemoryRegion::Kind;
  if (request.number != 1 && request.number != 2) return refused(EINVAL, "windows are of type 1 or 2");
  fabric::MemoryRegion* window = nullptr;
  const fabric::Outcome made =
      context_.create_window(*domain, request.number == 1 ? Kind::window_1 : Kind::window_2, &window);
  if (!made.ok()) return answer(made);
  windows_[fabric::MemoryTable::number_of(window->key)] = window;
  return created(window->key);
}

Reply Session::open_xrc_domain(const Request& request) {
  std::optional<fabric::XrcDomains::File> file;
  if ((request.flags & Request::has_file) != 0) file = {request.file_device, request.file_inode};
  std::uint32_t number = 0;
  const fabric::Outcome opened =
      adapter_.xrc_domains().open(file, !file || (request.flags & Request::create) != 0,
                                  (request.flags & Request::exclusive) != 0, &number);
  if (!opened.ok()) return answer(opened);
  ++xrc_domains_[number];
  return created(number);
}

Reply Session::close_xrc_domain(const Request& request) {
  const auto domain = xrc_domains_.find(request.object);
  if (domain == xrc_domains_.end()) return refused(EINVAL, "no such XRC domain");
  if (domain->second == 1) {
    const auto belongs = [&](std::uint32_t number) { return number == request.object; };
    for (const auto& [number, shared] : shared_receive_queues_) {
      if (belongs(shared->queue->xrc_domain))
        return refused(EBUSY, "shared receive queues are in the domain");
    }
    for (const auto& [number, pair] : queue_pairs_) {
      if (belongs(pair->queue_pair->configuration().xrc_domain))
        return refused(EBUSY, "queue pairs are in the domain");
    }
  }
  adapter_.xrc_domains().close(request.object);
  if (--domain->second == 0) xrc_domains_.erase(domain);
  return {};
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
  const auto cookie = reinterpret_cast<std::uint64_t>(&ring);
  fabric::Outcome outcome;
  if (request.xrc_domain == 0) {
    outcome = context_.create_shared_receive_queue(*domain, request.capacity, request.segments, cookie,
                                                   &made->queue);
  } else {
    made->completions = find(completion_queues_, request.receive_queue);
    if (made->completions == nullptr) return refused(EINVAL, "no such completion queue");
    if (!xrc_domains_.contains(request.xrc_domain)) return refused(EINVAL, "no such XRC domain");
    outcome = context_.create_xrc_receive_queue(*domain, request.capacity, request.segments, cookie,
                                                request.xrc_domain, *made->completions->queue, &made->queue);
  }
  if (!outcome.ok()) return answer(outcome);
  if (made->completions != nullptr) made->completions->xrc_receives.push_back(made.get());
  const std::uint32_t number = made->queue->number;
  shared_receive_queues_[number] = std::move(made);
  return created(number);
}

// The rings of a queue pair; null when the memory is too small for them.
std::unique_ptr<Session::Pair> Session::lay_out(const fabric::QpCapabilities& caps,
                                                const RingMemory& memory) {
  const QueuePairShape shape(caps);
  if (memory.bytes == nullptr || memory.size < shape.bytes()) return nullptr;
  auto made = std::make_unique<Pair>();
  made->memory = made->receives.memory = memory;
  made->sends = shape.sends;
  made->receives.shape = shape.receives;
  made->receives.indices = &made->header().receives;
  made->receives.eager = &made->header().eager;
  made->receives.most_segments = caps.max_recv_sge;
  made->capabilities = caps;
  return made;
}

Reply Session::create_queue_pair(const Request& request, const RingMemory& memory) {
  Completions* const sends = find(completion_queues_, request.send_queue);
  Completions* const receives = find(completion_queues_, request.receive_queue);
  SharedReceives* const shared = find(shared_receive_queues_, request.shared_receive_queue);
  const bool target = request.type == fabric::QpType::xrc_recv;
  const bool source = request.type == fabric::QpType::xrc_send;
  if (!target && !source && request.type != fabric::QpType::rc && request.type != fabric::QpType::uc &&
      request.type != fabric::QpType::ud)
    return refused(EOPNOTSUPP, "queue pairs are RC, UC, UD or XRC");
  if ((sends == nullptr && !target) || (receives == nullptr && !target && !source))
    return refused(EINVAL, "no such completion queue");
  if (request.shared_receive_queue != 0 && shared == nullptr)
    return refused(EINVAL, "no such shared receive queue");
  if (target && !xrc_domains_.contains(request.xrc_domain)) return refused(EINVAL, "no such XRC domain");
  if (queue_pairs_.size() >= most_queue_pairs || adapter_.queue_pair_count() >= adapter_.limits().max_qp)
    return refused(ENOMEM, "there are no more queue pairs");
  const fabric::QpCapabilities& caps = request.capabilities;
  const fabric::AdapterLimits& limits = adapter_.limits();
  if (caps.max_send_wr > limits.max_qp_wr || caps.max_recv_wr > limits.max_qp_wr ||
      caps.max_send_sge > limits.max_sge || caps.max_recv_sge > limits.max_sge ||
      caps.max_inline_data > limits.max_inline)
    return refused(EINVAL, "the queue pair's capabilities exceed the adapter's");
  auto made = lay_out(caps, memory);
  if (made == nullptr) return refused(EINVAL, "no memory");
  // A target has neither, whatever was named.
  made->send_completions = target ? nullptr : sends;
  made->shared = target ? nullptr : shared;
  fabric::QueuePair::Configuration configuration;
  configuration.type = request.type;
  configuration.xrc_domain = request.xrc_domain;
  configuration.capabilities = caps;
  configuration.signal_all = request.signal_all != 0;
  if (!target) {
    configuration.domain = find(domains_, request.domain);
    configuration.send_queue = sends->queue;
    configuration.receive_queue = receives != nullptr && !source ? receives->queue : nullptr;
    configuration.shared_receive_queue = shared != nullptr ? shared->queue : nullptr;
    // The model's own receive queue stays empty when receives are shared, and when there is nothing to
    // receive.
    configuration.cookie = shared != nullptr || source ? 0 : reinterpret_cast<std::uint64_t>(&made->receives);
  }
  const fabric::Outcome outcome = context_.create_queue_pair(configuration, &made->queue_pair);
  if (!outcome.ok()) return answer(outcome);
  made->receives.queue_pair = made->queue_pair;
  const std::uint32_t number = made->queue_pair->number();
  queue_pairs_[number] = std::move(made);
  return created(number);
}

Reply Session::open_queue_pair(const Request& request, const RingMemory& memory) {
  if (!xrc_domains_.contains(request.xrc_domain)) return refused(EINVAL, "no such XRC domain");
  auto made = lay_out({}, memory);
  if (made == nullptr) return refused(EINVAL, "no memory");
  const fabric::Outcome outcome =
      context_.open_queue_pair(request.object, request.xrc_domain, &made->queue_pair);
  if (!outcome.ok()) return answer(outcome);
  made->receives.queue_pair = made->queue_pair;
  queue_pairs_[request.object] = std::move(made);
  return created(request.object);
}

}  // namespace hawser::verbs
