#include "testbed/simulator/simulated_link.h"

#include <utility>

#include "base/assert.h"
#include "base/failure.h"

namespace hawser {

SimulatedLink::SimulatedLink(fabric::Fabric& fabric, fabric::Adapter& adapter, fabric::SpaceId space,
                             SimulatedProcessor& processor, DeviceUser& user, const FabricOptions& options,
                             LazyArena& memory, std::vector<SimulatedLink*>& links)
    : events_(fabric.events()),
      processor_(processor),
      user_(user),
      cost_(options.cost),
      tells_of_earlier_(options.tells_of_earlier),
      memory_(memory),
      links_(links) {
  link_.emplace(fabric, adapter, space, static_cast<verbs::LocalLink::Listener*>(this));
  links_.push_back(this);
}

SimulatedLink::~SimulatedLink() { std::erase(links_, this); }

Nanoseconds SimulatedLink::cost_of(verbs::Call call) const {
  constexpr int steps = 4;  // made, initialized, ready to receive, ready to send
  switch (call) {
    case verbs::Call::register_memory:
    case verbs::Call::deregister_memory:
      return cost_.registration;
    case verbs::Call::create_queue_pair:
    case verbs::Call::modify_queue_pair:
    case verbs::Call::destroy_queue_pair:
      return std::max(cost_.call, cost_.queue_pair / steps);
    default:
      return cost_.call;
  }
}

void SimulatedLink::sever() {
  for (Doorbell& doorbell : doorbells_) events_.cancel(doorbell);
  link_.reset();
}

// A call is a system call, and acts when everything posted before it has reached the adapter.
verbs::Reply SimulatedLink::call(const verbs::Request& request, const verbs::SharedBytes* memory) {
  if (request.call == verbs::Call::tell_completions && !tells_of_earlier_) return {};
  processor_.charge(cost_of(request.call));
  processor_.catch_up();
  return link_->call(request, memory);
}

verbs::SharedBytes SimulatedLink::allocate(std::size_t bytes) {
  LazyArena& memory = memory_;
  return {std::shared_ptr<std::byte>(memory.take(bytes),
                                     [&memory, bytes](std::byte* block) { memory.give_back(block, bytes); }),
          bytes};
}

// For something else than new requests, if each list has a doorbell of its own.
void SimulatedLink::ring(std::uint32_t queue_pair) {
  constexpr std::uint64_t none = 0, all = ~none;
  processor_.charge(cost_.post);
  send_doorbell(queue_pair, cost_.doorbell_per_post ? none : all);
}

bool SimulatedLink::ring_for_list(std::uint32_t queue_pair, std::uint64_t requests, std::uint64_t posted) {
  if (!cost_.doorbell_per_post) return false;
  processor_.charge(cost_.post + static_cast<Nanoseconds>(requests - 1) * cost_.further_request);
  send_doorbell(queue_pair, posted);
  return true;
}

void SimulatedLink::send_doorbell(std::uint32_t queue_pair, std::uint64_t posted) {
  if (idle_doorbells_.empty()) idle_doorbells_.push_back(&doorbells_.emplace_back(*this));
  Doorbell* const doorbell = idle_doorbells_.back();
  idle_doorbells_.pop_back();
  doorbell->queue_pair = queue_pair;
  doorbell->posted = posted;
  events_.schedule(*doorbell, processor_.local_time());
}

void SimulatedLink::Doorbell::fire(Nanoseconds) {
  owner_.idle_doorbells_.push_back(this);
  owner_.link_->ring(queue_pair, posted);
}

Result<std::unique_ptr<verbs::Link>> SimulatedPlatform::open(std::uint32_t number) {
  fabric::Adapter* const adapter = fabric_.adapter(host_, static_cast<std::int32_t>(number));
  if (adapter == nullptr)
    return failure(ErrorKind::invalid_argument, "host {} has no adapter {}", host_, number);
  if (adapter->dead()) return failure(ErrorKind::io, "adapter {} of host {} is dead", number, host_);
  return std::unique_ptr<verbs::Link>(std::make_unique<SimulatedLink>(fabric_, *adapter, space_, processor_,
                                                                      user_, options_, memory_, links_));
}

namespace {
SimulatedPlatform* running_platform = nullptr;
}

SimulatedPlatform* SimulatedPlatform::switch_to(SimulatedPlatform* platform) {
  return std::exchange(running_platform, platform);
}

}  // namespace hawser

namespace hawser::verbs {

Platform& current_platform() {
  HAWSER_ASSERT(running_platform != nullptr);
  return *running_platform;
}

}  // namespace hawser::verbs
