// Message: one that arrived before a receive for it was posted. It lies in the matching queues, or has
// been taken out by a matched probe (MPI-5.0 section 3.8.2) and then waits for its receive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/counted.h"
#include "base/intrusive_list.h"
#include "message/message_header.h"

namespace hawser {

class MessageRequest;
class PointToPoint;

class Message final : public Completion {
 public:
  // What MPI_MESSAGE_NO_PROC is to the core; never dereferenced.
  static Message* no_proc() { return reinterpret_cast<Message*>(std::uintptr_t{1}); }

  // Payloads up to this size lie in the object, larger ones on the heap.
  static constexpr std::int64_t inline_bytes = 64;

  // A small message needs nothing behind the first bytes of inline_payload, which saves cache lines.
  ListLink by_source;   // among those of one (context, source)
  ListLink by_arrival;  // among those of one context
  MessageHeader header;
  ProcessIndex process = 0;
  bool dropped = false;                 // nobody wants it; given back when it is here
  std::uint8_t lane = 0;                // that it came over, once a matched probe holds it
  std::uint32_t handle = 0;             // number in the process's object table; used by binding/ only
  std::int64_t size = 0;                // bytes of the message
  std::int64_t charged = 0;             // in its sender's UnexpectedMemory
  PointToPoint* arriving = nullptr;     // eager in pieces: the channel still writes into the payload, for it
  MessageRequest* self_send = nullptr;  // a send to the process itself whose bytes are still at their place
  MessageRequest* receiver = nullptr;   // matched while pieces were still coming
  Ref<Counted> communicator;            // kept alive while a matched probe holds the message
  std::unique_ptr<std::byte[]> heap_payload;
  std::byte inline_payload[inline_bytes];
  ExposeToken token;        // rendezvous only
  ListLink tag_by_source;   // in by_source, among those of its tag; used while the queue is long
  ListLink tag_by_arrival;  // same in by_arrival

  // All pieces are here.
  void on_complete(Result<> result) override;

  // What its bytes take beside the object; a rendezvous has none here.
  std::int64_t memory() const { return heap_payload == nullptr ? 0 : size; }
  std::byte* payload() { return heap_payload != nullptr ? heap_payload.get() : inline_payload; }
};

inline std::int32_t tag_of(const Message& message) { return message.header.tag; }

}  // namespace hawser
