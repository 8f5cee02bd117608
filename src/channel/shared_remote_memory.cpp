#include "channel/shared_remote_memory.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "base/failure.h"
#include "os/shared_memory.h"

namespace hawser {

namespace {

// Up to this size two messages are faster than a call of the kernel.
constexpr std::int64_t least_bytes = 512;

// A part of a sequence that is not one piece, on the stack of the caller.
constexpr std::int64_t piece_bytes = 8192;

}  // namespace

SharedRemoteMemory::SharedRemoteMemory(const SharedSegment& segment, std::int32_t self,
                                       const std::vector<ProcessIndex>& processes, bool may_copy)
    : segment_(segment),
      self_(self),
      processes_(processes),
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
  return {can, can, 0, least_bytes};
}

// Tells a token of this job from other bytes; the owner's number is random.
std::uint64_t SharedRemoteMemory::seal(const WindowToken& token) const {
  const auto place = static_cast<std::int32_t>(token.words[3]);
  const std::uint64_t number = segment_.block(place).present.load(std::memory_order_acquire);
  constexpr std::uint64_t odd = 0x9E3779B97F4A7C15u;
  return ((number ^ token.words[1]) * odd ^ token.words[2]) * odd;
}

Result<WindowToken> SharedRemoteMemory::register_window(std::byte* memory, std::int64_t size) {
  WindowToken token;
  token.words[1] = reinterpret_cast<std::uintptr_t>(memory);
  token.words[2] = static_cast<std::uint64_t>(size);
  token.words[3] = static_cast<std::uint64_t>(self_);
  token.words[0] = seal(token);
  return token;
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
bool SharedRemoteMemory::carry_out(ProcessIndex peer, const RemotePlace& where, std::int64_t bytes,
                                   Completion* end, Copy&& copy) {
  const std::int32_t place = place_of(peer);
  const std::uint64_t address = address_of(place, where, bytes);
  Result<> result;
  if (address == 0)
    result =
        failure(ErrorKind::other, "{} bytes at offset {} are not within the window", bytes, where.offset);
  else if (!copy(segment_.block(place).pid, address))
    result = failure(ErrorKind::other, "the kernel cannot copy {} bytes of another process's memory", bytes);
  ended_.push_back({end, std::move(result)});
  return true;
}

bool SharedRemoteMemory::try_put(ProcessIndex peer, const RemotePlace& to, const ByteSequence& from,
                                 TrafficClass, Completion* end) {
  return carry_out(peer, to, from.size, end, [&](pid_t pid, std::uint64_t address) {
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
  return carry_out(peer, from, into.size, end, [&](pid_t pid, std::uint64_t address) {
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

void SharedRemoteMemory::tell_ends() {
  for (Ended& ended : std::exchange(ended_, {})) tell(ended.end, std::move(ended.result));
}

}  // namespace hawser
