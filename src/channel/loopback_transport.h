// LoopbackTransport, for tests: the transports of several processes that are objects of one, without a
// network between them. Does everything that the contract has, one-sided operations natively, and no more
// than it promises: nothing happens before progress, the passive side of a one-sided operation has no part in
// it.
#pragma once

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "base/failure.h"
#include "channel/remote_memory.h"

namespace hawser {

class LoopbackTransport;

// The ends know each other by it; a new end may be added at any time.
struct LoopbackNetwork {
  std::vector<LoopbackTransport*> ends;
};

class LoopbackTransport final : public Transport, public RemoteMemory {
 public:
  explicit LoopbackTransport(LoopbackNetwork& network)
      : network_(network), self_(static_cast<ProcessIndex>(network.ends.size())) {
    network.ends.push_back(this);
  }

  const char* name() const override { return "loopback"; }
  std::int64_t eager_limit(ProcessIndex) const override { return 16384; }
  bool try_send(ProcessIndex peer, const TransportHeader& header, const ByteSequence& payload) override {
    HAWSER_ASSERT(payload.size <= eager_limit(peer));
    Packet packet{.source = self_, .header = header};
    packet.payload.resize(static_cast<std::size_t>(payload.size));
    copy(whole(packet.payload), payload, payload.size);
    return deliver(peer, std::move(packet));
  }
  bool try_expose(ProcessIndex peer, const TransportHeader& header, const ByteSequence& bytes,
                  Completion* end) override {
    Packet packet{.source = self_, .header = header};
    packet.offered = bytes.size;
    packet.token.words[0] = exposed_number_ + 1;
    if (!deliver(peer, std::move(packet))) return false;
    exposed_[++exposed_number_] = {bytes, end};
    return true;
  }
  void fetch(ProcessIndex peer, const ExposeToken& token, const ByteSequence& into,
             Completion* end) override {
    LoopbackTransport& owner = end_of(peer);
    operations_.push_back([this, &owner, number = token.words[0], into, end] {
      const auto found = owner.exposed_.find(number);
      HAWSER_ASSERT(found != owner.exposed_.end() && into.size <= found->second.bytes.size);
      copy(into, found->second.bytes, into.size);
      // Whose it was hears of it in its own progress.
      owner.operations_.push_back([end = found->second.end] { tell(end, {}); });
      owner.exposed_.erase(found);
      tell(end, {});
    });
  }

  bool progress(TransportEvents& events, Nanoseconds) override {
    const bool moved = !operations_.empty() || !arrived_.empty();
    for (auto operations = std::exchange(operations_, {}); auto& operation : operations) operation();
    for (auto arrived = std::exchange(arrived_, {}); Packet & packet : arrived) report(packet, events);
    return moved;
  }
  bool flushed() const override { return operations_.empty() && exposed_.empty(); }

  RemoteMemory* remote_memory() override { return this; }
  RemoteCapabilities capabilities(ProcessIndex) const override { return {true, true, ~std::uint32_t{0}}; }
  Result<WindowToken> register_window(std::byte* memory, std::int64_t size) override {
    windows_[++window_number_] = {memory, size};
    return WindowToken{{window_number_}};
  }
  void unregister_window(const WindowToken& window) override {
    const auto erased = windows_.erase(window.words[0]);
    HAWSER_ASSERT(erased == 1);
  }
  bool try_put(ProcessIndex peer, const RemotePlace& to, const ByteSequence& from, TrafficClass,
               Completion* end) override {
    return access(peer, to, from.size, end, [from](std::byte* memory) {
      copy({memory, from.size, nullptr}, from, from.size);
    });
  }
  bool try_get(ProcessIndex peer, const RemotePlace& from, const ByteSequence& into, TrafficClass,
               Completion* end) override {
    return access(peer, from, into.size, end, [into](std::byte* memory) {
      copy(into, {memory, into.size, nullptr}, into.size);
    });
  }
  bool try_atomic(ProcessIndex peer, const RemotePlace& at, const AtomicRequest& request,
                  std::uint64_t& before, Completion* end) override {
    return access(peer, at, sizeof(before), end, [request, &before](std::byte* memory) {
      std::memcpy(&before, memory, sizeof(before));
      const std::uint64_t after = applied(request, before);
      std::memcpy(memory, &after, sizeof(after));
    });
  }
  void flush(ProcessIndex, Completion& end) override {
    operations_.push_back([&end] { tell(&end, {}); });
  }

  // What an atomic operation leaves behind.
  static std::uint64_t applied(const AtomicRequest& request, std::uint64_t before) {
    switch (request.operation) {
      case AtomicOperation::fetch:
        return before;
      case AtomicOperation::swap:
        return request.operand;
      case AtomicOperation::compare_and_swap:
        return before == request.expected ? request.operand : before;
      case AtomicOperation::add:
        return before + request.operand;
      case AtomicOperation::bit_and:
        return before & request.operand;
      case AtomicOperation::bit_or:
        return before | request.operand;
      case AtomicOperation::bit_xor:
        return before ^ request.operand;
    }
    HAWSER_UNREACHABLE();
  }

 private:
  static constexpr std::size_t most_waiting = 64;  // packets that a peer has not taken

  struct Packet {
    ProcessIndex source = 0;
    TransportHeader header;
    std::vector<std::byte> payload;
    std::int64_t offered = -1;  // bytes; not an offer: -1
    ExposeToken token;
  };
  struct Exposed {
    ByteSequence bytes;
    Completion* end = nullptr;
  };
  struct Window {
    std::byte* memory = nullptr;
    std::int64_t size = 0;
  };

  static ByteSequence whole(std::vector<std::byte>& bytes) {
    return {bytes.data(), static_cast<std::int64_t>(bytes.size()), nullptr};
  }
  static void copy(const ByteSequence& to, const ByteSequence& from, std::int64_t size) {
    std::vector<std::byte> between(static_cast<std::size_t>(size));
    if (size == 0) return;
    if (from.contiguous())
      std::memcpy(between.data(), from.data, between.size());
    else
      from.packer->pack(0, between.data(), size);
    if (to.contiguous())
      std::memcpy(to.data, between.data(), between.size());
    else
      to.packer->unpack(0, between.data(), size);
  }
  LoopbackTransport& end_of(ProcessIndex peer) { return *network_.ends[static_cast<std::size_t>(peer)]; }
  bool deliver(ProcessIndex peer, Packet packet) {
    LoopbackTransport& receiver = end_of(peer);
    if (receiver.arrived_.size() >= most_waiting) return false;
    receiver.arrived_.push_back(std::move(packet));
    return true;
  }
  // Everything is one piece here, but what is long is reported as if it came in several.
  void report(Packet& packet, TransportEvents& events) {
    const auto size = static_cast<std::int64_t>(packet.payload.size());
    if (packet.offered >= 0)
      return events.on_offer(packet.source, packet.header, packet.token, packet.offered);
    if (size <= one_piece) return events.on_packet(packet.source, packet.header, packet.payload.data(), size);
    const EagerSink sink = events.on_eager_begin(packet.source, packet.header, size);
    copy(sink.into, whole(packet.payload), std::min(size, sink.into.size));
    tell(sink.end, {});
  }
  template <class Do>
  bool access(ProcessIndex peer, const RemotePlace& place, std::int64_t size, Completion* end,
              Do&& operation) {
    operations_.push_back([&owner = end_of(peer), place, size, end, operation] {
      const auto found = owner.windows_.find(place.window.words[0]);
      if (found == owner.windows_.end())
        return tell(end, failure(ErrorKind::other, "there is no window {}", place.window.words[0]));
      const Window& window = found->second;
      if (size < 0 || place.offset < 0 || size > window.size || place.offset > window.size - size)
        return tell(end, failure(ErrorKind::other, "{} bytes at offset {} of a window of {}", size,
                                 place.offset, window.size));
      operation(window.memory + place.offset);
      tell(end, {});
    });
    return true;
  }

  LoopbackNetwork& network_;
  const ProcessIndex self_;
  std::deque<Packet> arrived_;
  std::deque<std::function<void()>> operations_;  // in order
  std::map<std::uint64_t, Exposed> exposed_;
  std::uint64_t exposed_number_ = 0;
  std::map<std::uint64_t, Window> windows_;
  std::uint64_t window_number_ = 0;
};

}  // namespace hawser
