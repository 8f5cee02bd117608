#include "provider/local_link.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include "base/failure.h"

namespace hawser::verbs {

LocalLink::LocalLink(fabric::Fabric& fabric, fabric::Adapter& adapter, fabric::SpaceId space,
                     Listener* listener, bool places_data)
    : listener_(listener), places_data_(places_data), session_(fabric, adapter, space, *this) {}

Reply LocalLink::call(const Request& request, const SharedBytes* memory) {
  return session_.execute(request,
                          memory != nullptr ? RingMemory{memory->bytes, memory->size} : RingMemory{});
}

SharedBytes LocalLink::allocate(std::size_t bytes) {
  // Much of it is never used, and what calloc has fresh from the system takes no memory until then.
  void* const memory = std::calloc(1, bytes + cache_line);
  if (memory == nullptr) throw std::bad_alloc();
  void* aligned = memory;
  std::size_t room = bytes + cache_line;
  std::align(cache_line, bytes, aligned, room);
  return {std::shared_ptr<std::byte>(static_cast<std::byte*>(aligned),
                                     [memory](std::byte*) { std::free(memory); }),
          bytes};
}

std::uint32_t LocalLink::create_channel() {
  completions_[next_channel_];
  return next_channel_++;
}

int LocalLink::read_record(std::uint32_t channel, void* record, std::size_t bytes) {
  const auto take = [&](auto& queue) {
    if (queue.empty()) return EAGAIN;
    std::memcpy(record, &queue.front(), std::min(bytes, sizeof queue.front()));
    queue.pop_front();
    return 0;
  };
  if (channel == 0) return take(events_);
  const auto entry = completions_.find(channel);
  return entry == completions_.end() ? EINVAL : take(entry->second);
}

void LocalLink::completion_event(std::uint32_t channel, CompletionRecord record) {
  const auto entry = completions_.find(channel);
  if (entry == completions_.end()) return;
  entry->second.push_back(record);
  if (listener_ != nullptr) listener_->on_completion_event();
}

void LocalLink::async_event(const AsyncRecord& record) {
  events_.push_back(record);
  if (listener_ != nullptr) listener_->on_async_event();
}

void LocalLink::completion_written() {
  if (listener_ != nullptr) listener_->on_completion();
}

Result<std::vector<AdapterAttributes>> LocalPlatform::adapters() {
  std::vector<AdapterAttributes> found;
  for (std::int32_t rail = 0; fabric_.adapter(host_, rail) != nullptr; ++rail)
    found.push_back(attributes_of(*fabric_.adapter(host_, rail), fmt::format("hw{}", rail)));
  return found;
}

Result<std::unique_ptr<Link>> LocalPlatform::open(std::uint32_t number) {
  fabric::Adapter* const adapter = fabric_.adapter(host_, static_cast<std::int32_t>(number));
  if (adapter == nullptr)
    return failure(ErrorKind::invalid_argument, "host {} has no adapter {}", host_, number);
  if (adapter->dead()) return failure(ErrorKind::io, "adapter {} of host {} is dead", number, host_);
  return std::unique_ptr<Link>(std::make_unique<LocalLink>(fabric_, *adapter, 0, nullptr, true));
}

}  // namespace hawser::verbs
