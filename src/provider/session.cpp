#include "provider/session.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "provider/session_objects.h"

namespace hawser::verbs {
namespace {

bool is_in(const fabric::MemoryRegion& region, const CompletionEntry& entry) {
  return entry.carried_bytes <= region.length &&
         entry.carried_address - region.address <= region.length - entry.carried_bytes;
}

}  // namespace

AdapterAttributes attributes_of(const fabric::Adapter& adapter, const std::string& name) {
  AdapterAttributes facts;
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

Session::~Session() {
  adapter_.close(context_);
  for (const auto& [number, opened] : xrc_domains_) {
    for (std::uint32_t i = 0; i < opened; ++i) adapter_.xrc_domains().close(number);
  }
}

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

namespace {

// Of an adapter that died under its client, things can only be taken away.
constexpr Call calls_when_defunct[] = {Call::modify_queue_pair,        Call::query_queue_pair,
                                       Call::detach_multicast,         Call::close_xrc_domain,
                                       Call::tell_completions,         Call::destroy_domain,
                                       Call::deregister_memory,        Call::destroy_window,
                                       Call::destroy_completion_queue, Call::destroy_shared_receive_queue,
                                       Call::destroy_queue_pair};

bool works_when_defunct(Call call) {
  return std::ranges::find(calls_when_defunct, call) != std::end(calls_when_defunct);
}

}  // namespace

Reply Session::execute(const Request& request, const RingMemory& memory) {
  if (context_.defunct() && !works_when_defunct(request.call)) return refused(EIO, "the adapter is dead");
  switch (request.call) {
    case Call::query_port:
      return query_port(request);
    case Call::query_gids: {
      if (!adapter_.valid_port(static_cast<int>(request.number))) return refused(EINVAL, "no such port");
      const auto& gids = adapter_.port(static_cast<int>(request.number)).gids();
      Reply reply;
      std::copy_n(gids.begin(), std::min<std::size_t>(gids.size(), most_gids), reply.gids);
      return reply;
    }
    case Call::resolve_address:
      return resolve(request.attributes.path);
    case Call::create_domain: {
      fabric::ProtectionDomain* domain = context_.create_domain();
      domains_[domain->number] = domain;
      return created(domain->number);
    }
    case Call::register_memory:
      return register_memory(request);
    case Call::change_memory:
      return change_memory(request);
    case Call::create_window:
      return create_window(request);
    case Call::open_xrc_domain:
      return open_xrc_domain(request);
    case Call::close_xrc_domain:
      return close_xrc_domain(request);
    case Call::create_completion_queue:
      return create_completion_queue(request, memory);
    case Call::resize_completion_queue:
      return resize_completion_queue(request, memory);
    case Call::tell_completions:
      return tell_completions(request);
    case Call::create_shared_receive_queue:
      return create_shared_receive_queue(request, memory);
    case Call::set_limit:
    case Call::query_shared_receive_queue:
      return change_shared_receive_queue(request);
    case Call::create_queue_pair:
      return create_queue_pair(request, memory);
    case Call::open_queue_pair:
      return open_queue_pair(request, memory);
    case Call::query_time: {
      Reply reply;
      reply.time = adapter_.now();
      return reply;
    }
    case Call::modify_queue_pair:
    case Call::query_queue_pair:
    case Call::attach_multicast:
    case Call::detach_multicast:
      return change_queue_pair(request);
    case Call::destroy_domain:
    case Call::deregister_memory:
    case Call::destroy_window:
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

Reply Session::tell_completions(const Request& request) {
  Completions* const completions = find(completion_queues_, request.object);
  if (completions == nullptr) return refused(EINVAL, "no such completion queue");
  completions->tell_unread();
  return {};
}

Reply Session::query_port(const Request& request) const {
  const int number = static_cast<int>(request.number);
  if (!adapter_.valid_port(number)) return refused(EINVAL, "no such port");
  const fabric::AdapterPort& port = adapter_.port(number);
  const fabric::Parameters& parameters = fabric_.parameters();
  Reply reply;
  PortAttributes& facts = reply.port;
  facts.active = port.active();
  facts.ethernet = parameters.link_layer == fabric::LinkLayer::ethernet;
  facts.lid = port.lid();
  facts.lmc = static_cast<std::uint32_t>(port.lmc());
  facts.sm_lid = fabric_.manager().lid(port.name());
  facts.sm_sl = fabric_.manager().service_level(port.name(), static_cast<fabric::Lid>(facts.sm_lid));
  facts.mtu = 4096;
  facts.active_mtu = parameters.mtu;
  facts.gid_entries = static_cast<std::uint32_t>(port.gids().size());
  facts.max_message = adapter_.limits().max_message;
  facts.rate = fabric_.configured_rate(port.name());
  return reply;
}

// Systems ask a port on Ethernet for its Ethernet address, and wait for the answer.
Reply Session::resolve(const fabric::AddressVector& path) const {
  const fabric::Parameters& parameters = fabric_.parameters();
  if (parameters.link_layer != fabric::LinkLayer::ethernet || parameters.neighbour_time == 0) return {};
  if (!adapter_.valid_port(path.port)) return refused(EINVAL, "no such port");
  const fabric::AdapterPort& port = adapter_.port(path.port);
  if (path.source_gid_index >= port.gids().size() || port.gids()[path.source_gid_index].empty())
    return refused(EINVAL, "the own port has no such GID");
  if (path.destination_gid[0] == 0xff || port.answers(path)) return {};
  Reply reply = refused(ETIMEDOUT, "the port of this GID does not answer");
  reply.time = parameters.neighbour_time;
  return reply;
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
    if ((request.mask & fabric::mask_path) != 0)
      if (Reply resolved = resolve(request.attributes.path); resolved.error != 0) return resolved;
    const fabric::Outcome outcome = queue_pair.modify(request.attributes, request.mask);
    if (!outcome.ok()) return answer(outcome);
    if ((request.mask & fabric::mask_state) != 0 && request.attributes.state == fabric::QpState::reset)
      forget_rings(*pair);
    if (queue_pair.state() == fabric::QpState::err)
      settle_carried([&](const CompletionEntry& e) { return e.completion.qp_number == queue_pair.number(); });
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

// Data that completions carry get into their place before the program may do something else with that: when a
// region goes, and when a queue pair stops.
template <class F>
void Session::settle_carried(F&& concerned) {
  for (auto& [number, completions] : completion_queues_) completions->settle(concerned);
}

void Session::settle_region(const fabric::MemoryRegion& region) {
  settle_carried([&](const CompletionEntry& entry) { return is_in(region, entry); });
}

// The entry comes from memory that the client may write to: only what it registered is touched.
void Session::place(const CompletionEntry& entry, const std::byte* data) {
  if (std::ranges::none_of(regions_, [&](const auto& each) { return is_in(*each.second, entry); })) return;
  const fabric::Piece piece{entry.carried_address, entry.carried_bytes};
  // Memory that is not there any more needs no data.
  (void)adapter_.services().dma.write(context_.space(), {&piece, 1}, data);
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
    return finish(regions_, region, [&] {
      settle_region(*region);
      return context_.deregister_memory(*region);
    });
  }
  if (request.call == Call::destroy_window) {
    auto* const window = find(windows_, number);
    return finish(windows_, window, [&] {
      context_.destroy_window(*window);
      return fabric::Outcome{};
    });
  }
  if (request.call == Call::destroy_completion_queue) {
    auto* const queue = find(completion_queues_, number);
    return finish(completion_queues_, queue, [&] { return context_.destroy_completion_queue(queue->queue); });
  }
  if (request.call == Call::destroy_shared_receive_queue) {
    auto* const queue = find(shared_receive_queues_, number);
    return finish(shared_receive_queues_, queue, [&] {
      const fabric::Outcome outcome = context_.destroy_shared_receive_queue(queue->queue);
      if (outcome.ok() && queue->completions != nullptr) std::erase(queue->completions->xrc_receives, queue);
      return outcome;
    });
  }
  auto* const pair = find(queue_pairs_, number);
  return finish(queue_pairs_, pair, [&] {
    drain_sends(*pair);  // what was posted before comes first
    return context_.destroy_queue_pair(pair->queue_pair);
  });
}

}  // namespace hawser::verbs
