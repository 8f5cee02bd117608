#include "channel/shared_remote_memory.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "base/failure.h"
#include "os/shared_memory.h"

namespace hawser {

namespace {

// A part of a sequence that is not one piece, on the stack of the caller.
constexpr std::int64_t piece_bytes = 8192;

}  // namespace

SharedRemoteMemory::SharedRemoteMemory(const SharedSegment& segment, std::int32_t self,
                                       const std::vector<ProcessIndex>& processes,
                                       const std::vector<RingSender*>& rings, NodeLoad& load, bool fence,
                                       bool may_copy)
    : segment_(segment),
      self_(self),
      processes_(processes),
      rings_(rings),
      load_(load),
      served_(segment, self, fence),
      copyable_(processes.size(), may_copy ? Copyable::unknown : Copyable::no) {}

std::int32_t SharedRemoteMemory::place_of(ProcessIndex peer) const {
  const std::int32_t place = place_among(processes_, peer);
  HAWSER_ASSERT(place >= 0);
  return place;
}

RemoteCapabilities SharedRemoteMemory::capabilities(ProcessIndex peer) const {
  const std::int32_t place = place_of(peer);
  Copyable& copyable = copyable_[static_cast<std::size_t>(place)];
  if (copyable == Copyable::unknown)
    copyable = can_copy_from(segment_.block(place)) ? Copyable::yes : Copyable::no;
  const bool can = copyable == Copyable::yes;
  return {can, can, 0};
}

// Tells a token of this job from other bytes; the owner's number is random.
std::uint64_t SharedRemoteMemory::seal(const WindowToken& token) const {
  const auto place = static_cast<std::int32_t>(token.words[3]);
  const std::uint64_t number = segment_.block(place).present.load(std::memory_order_acquire);
  constexpr std::uint64_t odd = 0x9E3779B97F4A7C15u;
  return (((number ^ token.words[1]) * odd ^ token.words[2]) * odd ^ token.words[4]) * odd;
}

Result<WindowToken> SharedRemoteMemory::register_window(std::byte* memory, std::int64_t size) {
  WindowToken token;
  token.words[1] = reinterpret_cast<std::uintptr_t>(memory);
  token.words[2] = static_cast<std::uint64_t>(size);
  token.words[3] = static_cast<std::uint64_t>(self_);
  token.words[4] = served_.open_window(memory, size);
  token.words[0] = seal(token);
  return token;
}

void SharedRemoteMemory::unregister_window(const WindowToken& window) {
  served_.close_window(static_cast<std::uint32_t>(window.words[4]));
}

std::uint64_t SharedRemoteMemory::address_of(std::int32_t place, const RemotePlace& where,
                                             std::int64_t bytes) const {
  const WindowToken& token = where.window;
  if (token.words[3] != static_cast<std::uint64_t>(place) || token.words[0] != seal(token)) return 0;
  const auto size = static_cast<std::int64_t>(token.words[2]);
  if (bytes < 0 || where.offset < 0 || bytes > size || where.offset > size - bytes) return 0;
  return token.words[1] + static_cast<std::uint64_t>(where.offset);
}

// copy(pid, address) answers whether it could.
template <class Copy>
bool SharedRemoteMemory::carry_out(std::int32_t place, std::uint64_t address, Completion* end, Copy&& copy) {
  Result<> result;
  if (address == 0)
    result = failure(ErrorKind::other, "the bytes are not within the window");
  else if (!copy(segment_.block(place).pid, address))
    result = failure(ErrorKind::unsupported, "the kernel does not copy these bytes of another process");
  ended_.push_back({end, std::move(result)});
  return true;
}

// Whether the owner may be asked: with more processes than cores it is seldom there.
bool SharedRemoteMemory::may_ask(std::uint64_t address) { return address != 0 && !load_.crowded(); }

// It carries others out just now, and will have room sooner than the kernel copies.
bool SharedRemoteMemory::busy(std::int32_t owner) const {
  return served_.active() && segment_.block(owner).attentive.load(std::memory_order_relaxed) != 0;
}

ServedOperations::Place SharedRemoteMemory::place_in(std::int32_t owner, const RemotePlace& where,
                                                     std::uint64_t address) const {
  const ProcessIndex process = processes_[static_cast<std::size_t>(owner)];
  return {owner, rings_[static_cast<std::size_t>(process)], static_cast<std::uint32_t>(where.window.words[4]),
          where.offset, address};
}

bool SharedRemoteMemory::try_put(ProcessIndex peer, const RemotePlace& to, const ByteSequence& from,
                                 TrafficClass, Completion* end) {
  const std::int32_t place = place_of(peer);
  const std::uint64_t there = address_of(place, to, from.size);
  if (from.size <= ServedOperations::largest_put && may_ask(there) &&
      served_.try_put(place_in(place, to, there), from)) {
    ended_.push_back({end, {}});
    return true;
  }
  if (from.size <= ServedOperations::largest_put && busy(place)) return false;
  return carry_out(place, there, end, [&](pid_t pid, std::uint64_t address) {
    if (from.contiguous()) return copy_to_process(pid, address, from.data, from.size);
    std::byte piece[piece_bytes];
    bool copied = true;
    for (std::int64_t at = 0; copied && at < from.size; at += piece_bytes) {
      const std::int64_t bytes = std::min(piece_bytes, from.size - at);
      from.packer->pack(at, piece, bytes);
      copied = copy_to_process(pid, address + static_cast<std::uint64_t>(at), piece, bytes);
    }
    return copied;
  });
}

bool SharedRemoteMemory::try_get(ProcessIndex peer, const RemotePlace& from, const ByteSequence& into,
                                 TrafficClass, Completion* end) {
  const std::int32_t place = place_of(peer);
  const std::uint64_t there = address_of(place, from, into.size);
  if (into.size <= ServedOperations::largest_get && may_ask(there) &&
      served_.try_get(place_in(place, from, there), into, end))
    return true;
  if (into.size <= ServedOperations::largest_get && busy(place)) return false;
  return carry_out(place, there, end, [&](pid_t pid, std::uint64_t address) {
    if (into.contiguous()) return copy_from_process(pid, into.data, address, into.size);
    std::byte piece[piece_bytes];
    for (std::int64_t at = 0; at < into.size; at += piece_bytes) {
      const std::int64_t bytes = std::min(piece_bytes, into.size - at);
      if (!copy_from_process(pid, piece, address + static_cast<std::uint64_t>(at), bytes)) return false;
      into.packer->unpack(at, piece, bytes);
    }
    return true;
  });
}

void SharedRemoteMemory::flush(ProcessIndex peer, Completion& end) {
  if (!served_.flush(place_of(peer), end)) ended_.push_back({&end, {}});
}

bool SharedRemoteMemory::progress(TransportEvents& events) {
  if (served_.active()) served_.progress(ended_, liars_);
  for (const std::int32_t place : std::exchange(liars_, {}))
    events.on_bad_packet(processes_[static_cast<std::size_t>(place)],
                         "the end of a put or get that this process did not begin");
  if (ended_.empty()) return false;
  for (EndedOperation& ended : std::exchange(ended_, {})) tell(ended.end, std::move(ended.result));
  return true;
}

}  // namespace hawser
