// MessageRequest: a send or a receive from post to completion, and RequestPool, where they rest. Objects
// never move and keep their number, so a reply may name one by number and a channel by address.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/byte_sequence.h"
#include "base/intrusive_list.h"
#include "datatype/datatype.h"
#include "datatype/type_packer.h"
#include "message/message_header.h"
#include "message/request.h"
#include "message/request_table.h"

namespace hawser {

class Message;
class MessageRequest;
class PointToPoint;
class SendBuffer;

// Who goes on when a request that it made is complete.
class CompletionListener {
 public:
  // The request may be given back in here.
  virtual void one_done(MessageRequest& request) = 0;

 protected:
  ~CompletionListener() = default;
};

// Ready mode is standard mode.
enum class SendMode : std::uint8_t { standard, synchronous, buffered };

// Where a message goes: the communicator's context id, the sender's rank in it, and the process behind
// the destination rank. `traffic` is what the program makes of it.
struct SendTarget {
  ProcessIndex process;
  std::uint32_t context;
  std::int32_t source_rank;
  std::int32_t tag;
  TrafficClass traffic = TrafficClass::blocking;
  bool urgent = false;  // whoever gets it must do something with it soon, even if it computes
};

// What a receive accepts. source_rank may be any_source, tag any_tag.
struct ReceivePattern {
  std::uint32_t context;
  std::int32_t source_rank;
  std::int32_t tag;
};

// The first two cache lines hold all that a receive in one piece needs.
class alignas(64) MessageRequest final : public Request {
 public:
  enum class Direction : std::uint8_t {
    send,
    receive,
    reply,  // a packet without payload that waits for room
    flush,  // MPI_Buffer_iflush
  };
  // What else happens when it is complete.
  enum class After : std::uint8_t {
    nothing,
    recycle,         // MPI_Request_free was called
    release_buffer,  // a message in an attached buffer: `buffer`
    tell_listener,   // part of something larger: `listener`
    withdraw,        // a receive that is shown to its sender: `shown`
  };
  enum class Stage : std::uint8_t {
    idle,            // not started, or complete
    queued,          // send or reply: waits for room in its channel
    awaiting_match,  // synchronous send: the bytes are gone, the reply `matched` is not here yet
    exposed,         // rendezvous send: its bytes wait for the receiver to fetch them
    held,            // send to the process itself: named by an unexpected Message
    posted,          // receive: in a matching queue
    arriving,        // receive: matched; pieces or a fetch are under way
  };

  explicit MessageRequest(PointToPoint& owner) : Request(Kind::message), owner_(owner) { pooled = true; }

  Result<> start() override;
  Result<> cancel() override;
  void destroy() override;

  Direction direction = Direction::send;
  Stage stage = Stage::idle;
  SendMode mode = SendMode::standard;
  After after = After::nothing;
  bool cancelling = false;  // send: a cancel packet is under way; complete only after its reply
  bool settled = false;     // send: matched, or its exposed bytes are free again
  TrafficClass traffic = TrafficClass::blocking;  // send
  std::int8_t shown = -1;                         // receive: its place among the PostedReceives; -1: none
  bool urgent = false;                            // send
  // Why it cannot succeed any more, while it cannot be complete yet: success, proc_failed or revoked.
  ErrorClass fault = ErrorClass::success;
  ProcessIndex process = 0;  // send: destination; receive: source, once matched
  std::uint32_t context = 0;
  std::int32_t source_rank = 0;  // send: ours; receive: wanted
  std::int32_t tag = 0;
  ByteSequence bytes;  // send: what; receive: where to, and how much fits
  ListLink link;       // in a posted queue, or in a peer's queue of sends
  union {
    std::uint64_t sequence = 0;  // receive: order of posting; message in a buffer: order of sending
    MessageRequest* next_free;   // in the pool
  };
  std::int64_t message_size = 0;  // receive: of the matched message, if bytes are on the way or did not fit
  MessageHeader reply;            // Direction::reply: what to send
  TypePacker packer;              // what bytes.packer points to, for data that is not in one piece
  Ref<const Datatype> datatype;   // kept alive while the packer needs it
  SendBuffer* buffer = nullptr;   // a message in it; or persistent: that of the communicator's session
  union {
    ListLink buffer_link = {};  // send: among the messages of `buffer`
    ListLink tag_link;          // receive: among the posted ones of its tag, in a long queue
  };
  CompletionListener* listener = nullptr;

  // Who is told when the exposed bytes are free again, or those on their way to a receive have landed.
  Completion& transfer() { return transfer_; }

 private:
  class Transfer final : public Completion {
   public:
    explicit Transfer(MessageRequest& request) : request_(request) {}
    void on_complete(Result<> result) override;

   private:
    MessageRequest& request_;
  };

  PointToPoint& owner_;
  Transfer transfer_{*this};
};

inline std::int32_t tag_of(const MessageRequest& request) { return request.tag; }

class RequestPool {
 public:
  RequestPool(PointToPoint& owner, RequestTable& table) : owner_(owner), table_(table) {}
  ~RequestPool();

  MessageRequest& take() {
    if (free_ == nullptr) [[unlikely]]
      grow();
    MessageRequest& request = *free_;
    free_ = request.next_free;
    return request;
  }
  void give_back(MessageRequest& request) {
    request.next_free = free_;
    free_ = &request;
  }
  // Visits the requests that are started and not complete.
  template <class Visit>
  void for_each_pending(Visit&& visit) const {
    for_each([&](MessageRequest& request) {
      if (request.stage != MessageRequest::Stage::idle && !request.complete) visit(request);
    });
  }
  // Visits receives that are complete in error though they are posted (failing.cpp).
  template <class Visit>
  void for_each_suspended(Visit&& visit) {
    for_each([&](MessageRequest& request) {
      if (request.stage == MessageRequest::Stage::posted && request.complete) visit(request);
    });
  }

 private:
  static constexpr std::size_t chunk_size = 64;
  // Chunks may be added and requests given back meanwhile.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (std::size_t chunk = 0; chunk < chunks_.size(); ++chunk)
      for (std::size_t i = 0; i < chunk_size; ++i) visit(chunks_[chunk][i]);
  }
  void grow();
  void make_chunk();

  PointToPoint& owner_;
  RequestTable& table_;
  MessageRequest* free_ = nullptr;
  std::vector<MessageRequest*> chunks_;  // of chunk_size requests each
};

}  // namespace hawser
