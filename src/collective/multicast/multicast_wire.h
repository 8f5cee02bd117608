// What processes tell each other for broadcasts by multicast: packets of a root to the leaders of all nodes,
// which may be lost, and active messages between a root and one leader, which are not: what a leader has, and
// packets that it lacks.
#pragma once

#include <cstddef>
#include <cstdint>

#include "channel/multicast.h"
#include "channel/transport.h"

namespace hawser {

// Before the bytes of a packet, whichever way it goes.
struct MulticastHeader {
  MulticastKey key;          // of the communicator
  std::int32_t root = 0;     // rank
  std::uint32_t packet = 0;  // number, among all that this root sent to this communicator
  std::int32_t tag = 0;      // of the operation
  std::uint32_t flags = 0;   // of what its root wants
  std::int64_t offset = 0;   // of its bytes in the broadcast
  std::int64_t total = 0;    // bytes of the broadcast
};
// The root wants the next operation, of which all leaders are roots, to go by messages.
inline constexpr std::uint32_t multicast_no_more = 1;
static_assert(sizeof(MulticastHeader) == Multicast::header_bytes);

// Operations of a communicator are counted by their tags, modulo this. Their broadcasts begin in this order.
inline constexpr std::int32_t operation_tags = 1 << 29;

// What a leader tells a root of its packets.
struct LeaderStatus {
  std::uint32_t expected = 0;    // it has all packets before, and their operations have begun there
  std::uint32_t duplicates = 0;  // packets that were sent again to it and came by multicast, too, so far
  std::uint64_t received = 0;    // bit i: it has packet expected + i, too
  std::uint32_t rails = 0;       // bit i: it is attached on its rail i
  std::uint32_t waits = 0;       // 1: for packets that do not come
};
static_assert(sizeof(LeaderStatus) == 24);

struct MulticastControl {
  enum class Kind : std::uint8_t {
    status,  // LeaderStatus
    repair   // MulticastHeader, and the packet's bytes
  };
  HandlerId handler = HandlerId::collective;
  TrafficClass traffic = TrafficClass::collective;
  std::uint8_t urgent : 1 = 1;  // one of the two waits
  std::uint8_t flags : 7 = 0;
  Kind kind = Kind::status;
  MulticastKey key;
  std::int32_t source_rank = 0;
  std::int32_t unused = 0;
  std::uint32_t channel_word = 0;  // the transport's

  // The same bytes, as the transport sees them.
  operator const TransportHeader&() const { return reinterpret_cast<const TransportHeader&>(*this); }
  static const MulticastControl& of(const TransportHeader& header) {
    return reinterpret_cast<const MulticastControl&>(header);
  }
};
static_assert(sizeof(MulticastControl) == sizeof(TransportHeader) &&
              offsetof(MulticastControl, kind) == offsetof(TransportHeader, own) &&
              offsetof(MulticastControl, channel_word) == offsetof(TransportHeader, channel_word));

}  // namespace hawser
