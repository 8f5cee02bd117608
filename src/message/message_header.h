// MessageHeader: what this room puts into the header of its active messages (channel/transport.h): all that
// the receiver needs to match a message, and what the two ends tell each other about one.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "channel/transport.h"

namespace hawser {

struct [[gnu::may_alias]] MessageHeader {
  enum class Kind : std::uint8_t {
    eager,              // the whole message follows
    eager_synchronous,  // same, and the sender waits for `matched` (MPI_Ssend)
    rendezvous,         // an offer of the message; flags is 1 if the send is synchronous
    matched,       // reply to eager_synchronous; `sender_request` names the send. flags is 1 if no receive
                   // will take it (also said of a synchronous send that was offered)
    cancel,        // the sender asks to take back `sender_request`
    cancel_reply,  // flags is 1 if it could be taken back, else 0
    mark,          // how far the sender's eager messages have come (message/eager_window.h)
    report,        // reply to a mark: how much of them the receiver holds
  };
  HandlerId handler = HandlerId::message;
  TrafficClass traffic = TrafficClass::blocking;
  std::uint8_t urgent : 1 = 0;
  std::uint8_t flags : 7 = 0;
  Kind kind = Kind::eager;
  std::uint32_t context = 0;
  std::int32_t source_rank = 0;  // rank of the sender in the communicator
  std::int32_t tag = 0;
  std::uint32_t sender_request = 0;  // 0 when no reply is wanted
  std::uint32_t channel_word = 0;    // the transport's

  // Whether the header is one of this room's and of this kind: one look at four bytes.
  static bool is_eager(const TransportHeader& header) {
    const MessageHeader& own = of(header);
    return own.handler == HandlerId::message && own.kind == Kind::eager;
  }

  // The same bytes, as the transport sees them.
  operator const TransportHeader&() const { return reinterpret_cast<const TransportHeader&>(*this); }
  static const MessageHeader& of(const TransportHeader& header) {
    return reinterpret_cast<const MessageHeader&>(header);
  }
};
static_assert(sizeof(MessageHeader) == sizeof(TransportHeader) &&
              offsetof(MessageHeader, traffic) == offsetof(TransportHeader, traffic) &&
              offsetof(MessageHeader, kind) == offsetof(TransportHeader, own) &&
              offsetof(MessageHeader, channel_word) == offsetof(TransportHeader, channel_word));

}  // namespace hawser
