#include "testbed/emulator/connection.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "os/shared_memory.h"
#include "testbed/emulator/mapped_memory.h"

namespace hawser::emulator {
namespace {

using verbs::Call;
using verbs::Reply;
using verbs::Request;

Reply refused(int error, const std::string& why) {
  Reply reply;
  reply.error = error;
  std::strncpy(reply.why, why.c_str(), sizeof reply.why - 1);
  return reply;
}

// The daemon never waits for a client to read.
void never_wait(const FileDescriptor& pipe) {
  fcntl(pipe.get(), F_SETFL, fcntl(pipe.get(), F_GETFL) | O_NONBLOCK);
}

}  // namespace

Connection::Connection(ConnectionHost& host, FileDescriptor socket)
    : host_(host), socket_(std::move(socket)), process_(peer_process(socket_)) {}

Connection::~Connection() {
  session_.reset();
  if (space_ != 0) host_.dma().remove(space_);
}

bool Connection::serve() {
  LocalPacket packet;
  // A bounded number, as others wait too.
  for (int calls = 0; calls < 16; ++calls) {
    if (!send_queued()) return false;
    if (sending()) return true;
    switch (receive_packet(socket_, packet, false)) {
      case PacketOutcome::nothing:
        return true;
      case PacketOutcome::closed:
        return false;
      case PacketOutcome::done:
        break;
    }
    Request request;
    if (packet.bytes.size() < sizeof request) return false;
    std::memcpy(&request, packet.bytes.data(), sizeof request);
    request.host[sizeof request.host - 1] = 0;
    if (request.version != verbs::wire_version) return false;
    answer(request, packet);
    if (request.call == Call::command) break;  // pictures take tens of milliseconds
  }
  return send_queued();
}

void Connection::answer(const Request& request, LocalPacket& packet) {
  Reply reply;
  std::vector<int> descriptors;
  switch (request.call) {
    case Call::command: {
      const auto* const text = reinterpret_cast<const char*>(packet.bytes.data());
      return queue_text(host_.command({text + sizeof request, packet.bytes.size() - sizeof request}));
    }
    case Call::list_adapters:
      reply = list_adapters(request);
      break;
    case Call::open_adapter:
      reply = open_adapter(request, packet);
      if (reply.error == 0) descriptors = {host_.wake_descriptor(), host_.page_descriptor()};
      break;
    case Call::create_channel:
    case Call::destroy_channel:
      reply = change_channel(request, packet);
      break;
    default: {
      verbs::RingMemory memory;
      if (request.memory_bytes > 0 && packet.descriptors.size() == 1) {
        memory.size = request.memory_bytes;
        memory.bytes = map_memory(packet.descriptors[0], memory.size);
      }
      reply =
          session_ != nullptr ? session_->execute(request, memory) : refused(EINVAL, "open an adapter first");
    }
  }
  queue(std::as_bytes(std::span(&reply, 1)), std::move(descriptors));
}

Reply Connection::list_adapters(const Request& request) {
  fabric::Fabric& fabric = host_.fabric();
  const auto host = fabric.topology().find_host(request.host);
  if (!host)
    return refused(EINVAL, fmt::format("there is no host '{}' (there are {})", request.host,
                                       fabric.topology().hosts().size()));
  Reply reply;
  for (std::int32_t rail = 0; fabric.adapter(*host, rail) != nullptr; ++rail) {
    if (reply.adapter_count == verbs::most_adapters) break;
    reply.adapters[reply.adapter_count++] =
        verbs::attributes_of(*fabric.adapter(*host, rail), fmt::format("hw{}", rail));
  }
  return reply;
}

Reply Connection::open_adapter(const Request& request, LocalPacket& packet) {
  if (session_ != nullptr || packet.descriptors.size() != 3) return refused(EINVAL, "opened already");
  fabric::Fabric& fabric = host_.fabric();
  const auto host = fabric.topology().find_host(request.host);
  fabric::Adapter* const adapter =
      host ? fabric.adapter(*host, static_cast<std::int32_t>(request.number)) : nullptr;
  if (adapter == nullptr)
    return refused(EINVAL, fmt::format("host '{}' has no adapter {}", request.host, request.number));
  if (adapter->dead())
    return refused(EIO, fmt::format("adapter {} of host '{}' is dead", request.number, request.host));
  page_memory_ = map_memory(packet.descriptors[0], sizeof(DoorbellPage));
  if (page_memory_ == nullptr) return refused(EINVAL, "cannot allocate memory for doorbells");
  wait_memory_ = map_memory(packet.descriptors[2], sizeof(WaitPage));
  if (wait_memory_ == nullptr) return refused(EINVAL, "cannot allocate memory for waiting");
  page_ = reinterpret_cast<DoorbellPage*>(page_memory_.get());
  wait_ = reinterpret_cast<WaitPage*>(wait_memory_.get());
  events_ = std::move(packet.descriptors[1]);
  never_wait(events_);
  space_ = host_.dma().add(process_, &stored_);
  adapter_name_ = fmt::format("{}/hw{}", request.host, request.number);
  session_ = std::make_unique<verbs::Session>(fabric, *adapter, space_, *this);
  return {};
}

Reply Connection::change_channel(const Request& request, LocalPacket& packet) {
  Reply reply;
  if (request.call == Call::destroy_channel) {
    channels_.erase(request.object);
    return reply;
  }
  if (packet.descriptors.size() != 1 || channels_.size() >= verbs::most_channels)
    return refused(ENOMEM, "the client has too many completion channels");
  never_wait(packet.descriptors[0]);
  reply.object = next_channel_++;
  channels_[reply.object] = std::move(packet.descriptors[0]);
  return reply;
}

void Connection::queue_text(const CommandAnswer& answer) {
  std::size_t sent = 0;
  do {
    const std::size_t part = std::min(answer.text.size() - sent, longest_packet - sizeof(Reply));
    Reply reply;
    reply.error = answer.error;
    reply.text_bytes = static_cast<std::uint32_t>(part);
    reply.more = sent + part < answer.text.size();
    std::vector<std::byte> bytes(sizeof reply + part);
    std::memcpy(bytes.data(), &reply, sizeof reply);
    std::memcpy(bytes.data() + sizeof reply, answer.text.data() + sent, part);
    queue(bytes);
    sent += part;
  } while (sent < answer.text.size());
}

void Connection::queue(std::span<const std::byte> bytes, std::vector<int> descriptors) {
  unsent_.push_back({{bytes.begin(), bytes.end()}, std::move(descriptors)});
}

// Sends what goes without waiting. False when the client is gone.
bool Connection::send_queued() {
  while (!unsent_.empty()) {
    const Unsent& first = unsent_.front();
    if (!send_packet(socket_, first.bytes, first.descriptors, false))
      return errno == EAGAIN || errno == EWOULDBLOCK;
    unsent_.pop_front();
  }
  return true;
}

bool Connection::take_doorbells() {
  if (page_ == nullptr) return false;
  bool any = false;
  // A bounded number, so that one busy client does not keep the others waiting.
  for (int i = 0; i < 64; ++i) {
    const std::uint32_t queue_pair = page_->take(taken_);
    if (queue_pair == 0) break;
    session_->doorbell(queue_pair);
    any = true;
  }
  return any;
}

void Connection::tell_of_completions() {
  if (!std::exchange(stored_, false)) return;
  wait_->told.fetch_add(1, std::memory_order_seq_cst);
  if (wait_->sleepers.load(std::memory_order_seq_cst) != 0) futex_wake_all(wait_->told);
}

std::string Connection::describe() const {
  return fmt::format("process {} at {}, {} queue pairs", process_, adapter_name_,
                     session_ != nullptr ? session_->queue_pairs() : 0);
}

void Connection::completion_event(std::uint32_t channel, verbs::CompletionRecord record) {
  const auto entry = channels_.find(channel);
  if (entry != channels_.end()) tell(entry->second, &record, sizeof record);
}

void Connection::async_event(const verbs::AsyncRecord& record) { tell(events_, &record, sizeof record); }

// A pipe holds thousands of records; a client that never reads them loses the rest.
void Connection::tell(const FileDescriptor& pipe, const void* record, std::size_t bytes) {
  if (write(pipe.get(), record, bytes) != static_cast<ssize_t>(bytes)) ++lost_events_;
}

}  // namespace hawser::emulator
