// Message: one that arrived before a receive for it was posted. It lies in the matching queues, or has
// been taken out by a matched probe (MPI-5.0 section 3.8.2) and then waits for its receive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/counted.h"
#include "base/intrusive_list.h"
#include "message/message_header.h"

namespace hawser {

class MessageRequest;
class PointToPoint;

class alignas(64) Message final : public Completion {
 public:
  // What MPI_MESSAGE_NO_PROC is to the core; never dereferenced.
  static Message* no_proc() { return reinterpret_cast<Message*>(std::uintptr_t{1}); }

  // Payloads up to this size lie in the object, larger ones in a block of PayloadMemory.
  static constexpr std::int64_t inline_bytes = 64;

  // A message of at most 16 bytes needs nothing behind two cache lines.
  ListLink by_source;   // among those of one (context, source)
  ListLink by_arrival;  // among those of one context
  MessageHeader header;
  ProcessIndex process = 0;
  bool dropped = false;                 // nobody wants it; given back when it is here
  std::uint8_t lane = 0;                // that it came over, once a matched probe holds it
  std::int64_t size = 0;                // bytes of the message
  std::int64_t charged = 0;             // in its sender's UnexpectedMemory
  PointToPoint* arriving = nullptr;     // eager in pieces: the channel still writes into the payload, for it
  MessageRequest* self_send = nullptr;  // a send to the process itself whose bytes are still at their place
  std::byte* pool_payload = nullptr;
  std::byte inline_payload[inline_bytes];  // of a rendezvous: its token
  MessageRequest* receiver = nullptr;      // matched while pieces are still coming
  Ref<Counted> communicator;  // kept alive while a matched probe holds the message; then its receive's
  std::uint32_t handle = 0;   // number in the process's object table; used by binding/ only
  ListLink tag_by_source;     // in by_source, among those of its tag; used while the queue is long
  ListLink tag_by_arrival;    // same in by_arrival

  void set_token(const ExposeToken& token) { std::memcpy(inline_payload, &token, sizeof(token)); }
  ExposeToken token() const {
    ExposeToken kept;
    std::memcpy(&kept, inline_payload, sizeof(kept));
    return kept;
  }

  // All pieces are here.
  void on_complete(Result<> result) override;

  // What its bytes take beside the object; a rendezvous has none here.
  std::int64_t memory() const { return pool_payload == nullptr ? 0 : size; }
  std::byte* payload() { return pool_payload != nullptr ? pool_payload : inline_payload; }
};

static_assert(sizeof(Message) == 256, "one that waits takes four cache lines");

inline std::int32_t tag_of(const Message& message) { return message.header.tag; }

}  // namespace hawser
