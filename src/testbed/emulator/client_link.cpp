#include "testbed/emulator/client_link.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>

#include "base/failure.h"
#include "base/machine.h"
#include "testbed/emulator/mapped_memory.h"

namespace hawser::emulator {
namespace {

using verbs::Call;
using verbs::Reply;
using verbs::Request;

Result<FileDescriptor> connect_to(const std::string& fabric) {
  auto socket = connect_local(fabric);
  if (socket) return socket;
  return failure(ErrorKind::not_found, "hawser: the fabric '{}' is not up: {}", fabric, socket.error().text);
}

void name_host(Request& request, const std::string& host) {
  std::strncpy(request.host, host.c_str(), sizeof request.host - 1);
}

struct Pipe {
  FileDescriptor out, in;
};

Pipe make_pipe() {
  int ends[2] = {-1, -1};
  if (pipe2(ends, O_CLOEXEC) != 0) return {};
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

Reply lost() {
  Reply reply;
  reply.error = EIO;
  std::strncpy(reply.why, "the fabric's daemon is gone", sizeof reply.why - 1);
  return reply;
}

Reply ask(const FileDescriptor& socket, const Request& request, std::span<const int> descriptors,
          LocalPacket& packet) {
  if (!send_packet(socket, std::as_bytes(std::span(&request, 1)), descriptors)) return lost();
  if (receive_packet(socket, packet) != PacketOutcome::done || packet.bytes.size() < sizeof(Reply))
    return lost();
  Reply reply;
  std::memcpy(&reply, packet.bytes.data(), sizeof reply);
  return reply;
}

}  // namespace

Result<std::vector<verbs::AdapterAttributes>> list_adapters(const std::string& fabric,
                                                            const std::string& host) {
  auto socket = connect_to(fabric);
  if (!socket) return socket.take_error();
  Request request;
  request.call = Call::list_adapters;
  name_host(request, host);
  LocalPacket packet;
  const Reply reply = ask(socket.value(), request, {}, packet);
  if (reply.error != 0)
    return failure(ErrorKind::invalid_argument, "hawser: fabric '{}': {}", fabric, reply.why);
  return std::vector<verbs::AdapterAttributes>(reply.adapters, reply.adapters + reply.adapter_count);
}

Result<std::unique_ptr<verbs::Link>> ClientLink::open(const std::string& fabric, const std::string& host,
                                                      std::uint32_t adapter, PollingBackoff& backoff,
                                                      OncePerOutage& once_per_outage) {
  auto socket = connect_to(fabric);
  if (!socket) return socket.take_error();
  std::unique_ptr<ClientLink> link(
      new ClientLink(fabric, std::move(socket).value(), backoff, once_per_outage));
  // The daemon moves data in and out of our memory; Yama would allow that to our parents only.
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
  const FileDescriptor page = make_memory(sizeof(DoorbellPage));
  Pipe events = make_pipe();
  if (page.valid()) link->page_memory_ = map_memory(page, sizeof(DoorbellPage));
  if (link->page_memory_ == nullptr || !events.in.valid() || !backoff.usable())
    return failure(ErrorKind::no_memory, "hawser: cannot get memory or descriptors for an adapter: {}",
                   std::strerror(errno));
  link->page_ = reinterpret_cast<DoorbellPage*>(link->page_memory_.get());
  Request request;
  request.call = Call::open_adapter;
  request.number = adapter;
  name_host(request, host);
  const int descriptors[] = {page.get(), events.in.get(), backoff.memory().get()};
  LocalPacket answer;
  const Reply reply = link->exchange(request, descriptors, &answer);
  if (reply.error == EIO) return failure(ErrorKind::io, "hawser: fabric '{}': {}", fabric, reply.why);
  if (reply.error != 0)
    return failure(ErrorKind::invalid_argument, "hawser: fabric '{}': {}", fabric, reply.why);
  if (answer.descriptors.size() == 2)
    link->daemon_memory_ = map_to_read(answer.descriptors[1], sizeof(DaemonPage));
  if (link->daemon_memory_ == nullptr)
    return failure(ErrorKind::internal,
                   "hawser: the fabric's daemon is of a different build of Hawser; take the fabric down and "
                   "bring it up again");
  link->daemon_ = reinterpret_cast<const DaemonPage*>(link->daemon_memory_.get());
  link->wake_ = std::move(answer.descriptors[0]);
  link->channels_[0] = std::move(events.out);
  once_per_outage.forget();
  return std::unique_ptr<verbs::Link>(std::move(link));
}

Reply ClientLink::exchange(const Request& request, std::span<const int> descriptors, LocalPacket* answer) {
  const std::lock_guard guard(call_lock_);
  if (gone_) return lost();
  LocalPacket packet;
  const Reply reply = ask(socket_, request, descriptors, packet);
  if (reply.error == EIO && packet.bytes.size() < sizeof reply) lose();
  if (answer != nullptr) *answer = std::move(packet);
  return reply;
}

void ClientLink::lose() {
  if (!gone_.exchange(true))
    once_per_outage_.say(
        fmt::format("hawser: the daemon of fabric '{}' has ended, and its adapters with it", fabric_));
}

Reply ClientLink::call(const Request& request, const verbs::SharedBytes* memory) {
  if (memory == nullptr) return exchange(request, {});
  Request with_memory = request;
  with_memory.memory_bytes = memory->size;
  const int descriptors[] = {memory->descriptor};
  const Reply reply = exchange(with_memory, descriptors);
  close(memory->descriptor);  // both ends have mapped it
  return reply;
}

void ClientLink::linger(std::int64_t nanoseconds) {
  timespec left{nanoseconds / second, nanoseconds % second};
  while (::nanosleep(&left, &left) != 0 && errno == EINTR) {
  }
}

verbs::SharedBytes ClientLink::allocate(std::size_t bytes) {
  FileDescriptor memory = make_memory(bytes);
  if (!memory.valid()) return {};
  verbs::SharedBytes made{map_memory(memory, bytes), bytes, -1};
  if (made.bytes != nullptr) made.descriptor = memory.release();
  return made;
}

void ClientLink::ring(std::uint32_t queue_pair) {
  backoff_.show_core();
  page_->append(queue_pair);
  if (daemon_->asleep.load(std::memory_order_seq_cst) == 0) return;
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(wake_.get(), &one, sizeof one);
}

bool ClientLink::rest(std::uint32_t idle_polls) {
  constexpr std::uint32_t between_checks = 64;  // on a crowded machine a yield takes milliseconds
  if (gone_) [[unlikely]]
    return false;
  backoff_.rest(*daemon_);
  if (idle_polls % between_checks != between_checks - 1) return true;
  const std::unique_lock guard(call_lock_, std::try_to_lock);
  if (guard.owns_lock() && is_closed(socket_)) lose();
  return !gone_;
}

std::uint32_t ClientLink::create_channel() {
  Pipe pipe = make_pipe();
  if (!pipe.in.valid()) return 0;
  Request request;
  request.call = Call::create_channel;
  const int descriptors[] = {pipe.in.get()};
  const Reply reply = exchange(request, descriptors);
  if (reply.error != 0) {
    errno = reply.error;
    return 0;
  }
  const std::lock_guard guard(channels_lock_);
  channels_[reply.object] = std::move(pipe.out);
  return reply.object;
}

void ClientLink::destroy_channel(std::uint32_t channel) {
  Request request;
  request.call = Call::destroy_channel;
  request.object = channel;
  exchange(request, {});
  const std::lock_guard guard(channels_lock_);
  channels_.erase(channel);
}

int ClientLink::descriptor(std::uint32_t channel) const {
  const std::lock_guard guard(channels_lock_);
  const auto entry = channels_.find(channel);
  return entry == channels_.end() ? -1 : entry->second.get();
}

// Records are shorter than what a pipe moves in one piece.
int ClientLink::read_record(std::uint32_t channel, void* record, std::size_t bytes) {
  const int fd = descriptor(channel);
  const ssize_t got = read(fd, record, bytes);
  if (got < 0) return errno;
  if (static_cast<std::size_t>(got) == bytes) return 0;
  lose();
  return EIO;
}

}  // namespace hawser::emulator
