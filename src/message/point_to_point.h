// PointToPoint: sends and receives of one process (MPI-5.0 chapter 3): matching, the eager and
// rendezvous protocols, and the requests that follow them. Sits on the channels; knows processes and
// context ids, not communicators.
//
// Threads: none; every call is made under the process's lock. Nothing here blocks: a call starts an
// operation, `progress` and the channels' events complete it, and its request's `complete` tells.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/function_ref.h"
#include "channel/channel_set.h"
#include "channel/lane.h"
#include "channel/process_table.h"
#include "channel/shared_ring.h"
#include "channel/transport.h"
#include "message/eager_window.h"
#include "message/matching.h"
#include "message/message.h"
#include "message/message_pool.h"
#include "message/message_request.h"
#include "message/progress.h"
#include "message/request_table.h"
#include "message/send_buffer.h"

namespace hawser {

class PointToPoint final : public ActiveMessageHandler {
 public:
  explicit PointToPoint(RequestTable& table);
  ~PointToPoint();

  // From here on messages can be sent, and come in over the lane.
  void connect(Lane& lane, ProcessIndex self, const ProcessTable& processes, ChannelChoice& channels,
               UnexpectedBounds bounds);
  // The table has grown: messages can be sent to the new processes, too.
  void learn_processes();
  // Who ends the job when memory ends; without one the exception goes on.
  void set_progress(Progress& progress) { progress_ = &progress; }
  void out_of_memory(const std::bad_alloc& error) {
    if (progress_ == nullptr) throw;
    progress_->out_of_memory(error);
  }
  // Undone; nothing may be waiting for room.
  void disconnect();

  // Sends, if that can be done with at once and leaves nothing to follow: standard mode, one packet, room for
  // it now. False: nothing was done, use isend.
  bool send_now(const SendTarget& target, const ByteSequence& bytes) {
    Peer& peer = peer_of(target.process);
    const MessageHeader header = header_to(target);
    if (bytes.size <= peer.inline_limit && bytes.contiguous()) [[likely]]
      return send_in_slot(
          peer, [&] { return header; }, bytes.data, bytes.size);
    if (bytes.size > peer.eager_limit || !peer.queue.empty() || !peer.window.open()) return false;
    if (!peer.channel->try_send(target.process, header, bytes)) return false;
    charge(peer, memory_of_unexpected(bytes.size));
    return true;
  }

  // The same for the most frequent case, to be inlined: a message that fits a slot of a ring. False: not of
  // this kind, or no room; try send_now.
  // `target()` is the SendTarget to that process; asked for when there is room, it needs few registers.
  template <class Target>
  [[gnu::always_inline]] bool send_inline(ProcessIndex process, const void* data, std::int64_t bytes,
                                          Target&& target) {
    Peer& peer = peer_of(process);
    if (bytes > peer.inline_limit) [[unlikely]]
      return false;
    return send_in_slot(
        peer, [&] { return header_to(target()); }, static_cast<const std::byte*>(data), bytes);
  }

  // Starts a send, not a buffered one. The request may be `sent()`, which is complete. `bytes` (and its
  // packer) must stay valid until the request is complete.
  MessageRequest& isend(SendMode mode, const SendTarget& target, const ByteSequence& bytes);
  MessageRequest& ireceive(const ReceivePattern& pattern, const ByteSequence& into);

  // The same in two steps: a request whose bytes (and packer) may still be moved into it, and its start.
  MessageRequest& take_send(SendMode mode, const SendTarget& target, const ByteSequence& bytes);
  MessageRequest& take_receive(const ReceivePattern& pattern, const ByteSequence& into) {
    MessageRequest& request = take_request(MessageRequest::Direction::receive);
    request.mode = SendMode::standard;
    request.context = pattern.context;
    request.source_rank = pattern.source_rank;
    request.tag = pattern.tag;
    request.bytes = into;
    return request;
  }
  void start_send(MessageRequest& request);
  void start_receive(MessageRequest& request) {
    request.stage = MessageRequest::Stage::posted;
    if (Message* message = matching_.post(request)) [[unlikely]]
      deliver(*message, request);
  }
  // The short way, without a request, of a receive of data in one piece: its message is here, whole, and
  // fits. False: there is none like that, and nothing was done.
  bool receive_stored(const ReceivePattern& pattern, void* into, std::int64_t capacity, Status* status) {
    return matching_.any_messages() &&
           receive_waiting(pattern, static_cast<std::byte*>(into), capacity, status);
  }
  // A receive that waits, whose message only this process can send: if it is a large one, its sender may
  // write it while we compute.
  void show_receive(MessageRequest& receive, ProcessIndex source);
  // Receives what a matched probe took out. The message is gone afterwards.
  void start_matched_receive(Message& message, MessageRequest& request) { deliver(message, request); }

  // A buffered send: complete when this returns. Fails if the attached buffer has no room.
  // `communicator` (may be null) is kept alive while the copy is under way; `session_buffer` (may be null) is
  // that of its session.
  Result<> send_buffered(const SendTarget& target, const ByteSequence& bytes, Counted* communicator,
                         SendBuffer* session_buffer = nullptr);
  // The buffer of the process, and of one context (made when first asked for).
  SendBuffer& process_buffer() { return process_buffer_; }
  SendBuffer& context_buffer(std::uint32_t context) { return context_buffers_[context]; }
  bool has_buffer(std::uint32_t context) const { return context_buffers_.count(context) != 0; }
  // On a lane (message_lane.h): buffered sends take the buffers of another one's.
  void share_buffers(PointToPoint& owner) { buffers_ = &owner; }
  // On a lane, under the process's lock, too: ends what was left when requests became complete under the
  // lane's alone, for it touches buffers or datatypes, which are the process's.
  void settle() {
    if (!left_.empty()) [[unlikely]]
      settle_left();
  }
  // Complete when what lies in the buffer now has left it.
  MessageRequest& iflush(SendBuffer& buffer);

  // Persistent operations: inactive until start().
  MessageRequest& prepare_send(SendMode mode, const SendTarget& target, const ByteSequence& bytes);
  MessageRequest& prepare_receive(const ReceivePattern& pattern, const ByteSequence& into);
  Result<> start(MessageRequest& request);

  // The first of `count` tags for the parts of a partitioned send, which no other send of ours uses soon.
  std::int32_t take_part_tags(std::int32_t count) {
    if (next_part_tag_ > INT32_MAX - count) next_part_tag_ = 0;
    return std::exchange(next_part_tag_, next_part_tag_ + count);
  }

  // Looks for a message that has arrived; makes no progress itself.
  bool probe(const ReceivePattern& pattern, Status& status);
  // The same, and takes the message out of matching; null when there is none.
  Message* matched_probe(const ReceivePattern& pattern, Status& status);

  void cancel(MessageRequest& request);
  // Gives back a request that is complete or inactive; does nothing for shared ones. A request that is still
  // active is given back when it completes.
  void release(MessageRequest& request);

  // Always complete: a send that is over, and an operation with MPI_PROC_NULL.
  MessageRequest& sent() { return sent_; }
  MessageRequest& null_receive() { return null_receive_; }

  // Sends what waited for room. True if anything moved.
  bool progress() { return !waiting_peers_.empty() && send_queued(); }
  // True when no send waits for room and no reply is owed.
  bool flushed() const { return waiting_peers_.empty(); }
  // Forgets the queues of a context id that will be used anew. Messages in it are dropped.
  void release_context(std::uint32_t context);

  // --- When processes fail and communicators are revoked (failing.cpp)

  // The process has failed: what is sent to it from now on ends in error. The transports were told.
  void lose_peer(ProcessIndex process);
  bool has_lost(ProcessIndex process) const {
    const Peer* const peer = peers_[static_cast<std::size_t>(process)];
    return peer != nullptr && peer->lost();
  }
  // A send that is complete in error.
  MessageRequest& send_in_vain(SendMode mode, const SendTarget& target, ErrorClass why);
  // Ends an operation in error. It may be complete only later: when what is on its way has come, or when the
  // peer has answered that it does not want the message.
  void fail(MessageRequest& request, ErrorClass why);
  // Of every operation that is not complete, why it is to fail; success: it is not.
  void fail_pending(FunctionRef<ErrorClass(const MessageRequest&)> why);
  // Receives from any source that someone may have failed to send to: they are complete in error for who
  // waits, but stay posted, and go on with `resume`.
  void suspend(MessageRequest& receive);
  void resume_suspended(FunctionRef<bool(const MessageRequest&)> which);
  // A revoked context: its messages are dropped, also those that come later.
  void close_context(std::uint32_t context);
  void reopen_context(std::uint32_t context) { closed_contexts_.erase(context); }

  // Visits the sends and receives that are not complete, for reports.
  template <class Visit>
  void for_each_pending(Visit&& visit) const {
    pool_.for_each_pending(visit);
  }

  const MatchingCounters& counters() const { return matching_.counters(); }
  Matching::Queued queued_in(std::uint32_t context) const { return matching_.queued_in(context); }

  // A message that header.is_eager() arrived in one piece: on_packet without a look at the header.
  void on_eager(ProcessIndex source, const MessageHeader& header, const std::byte* payload,
                std::int64_t size);
  void on_packet(ProcessIndex source, const TransportHeader& header, const std::byte* payload,
                 std::int64_t size) override;
  void on_offer(ProcessIndex source, const TransportHeader& header, const ExposeToken& token,
                std::int64_t size) override;
  EagerSink on_eager_begin(ProcessIndex source, const TransportHeader& header, std::int64_t size) override;
  // The channel is through with the bytes of a send or a receive.
  void on_transferred(MessageRequest& request, Result<> result);
  // The process sent what it cannot mean; `what` goes on after "rank 3 sent ".
  void refuse(ProcessIndex source, std::string what) { lane_->on_bad_packet(source, std::move(what)); }
  // All pieces of a message that found no receive at its beginning are here.
  void on_arrived(Message& message, bool whole);

 private:
  struct Peer {
    // Bytes that may go straight into `ring` now; -1: there is none, others wait for room, or the window is
    // closed.
    std::int64_t inline_limit = -1;
    RingSender* ring = nullptr;
    EagerWindow window;
    std::int32_t eager_limit = -1;  // bytes; -1: the process itself; never_sent: it has failed
    ProcessIndex process = 0;
    IntrusiveList<MessageRequest, &MessageRequest::link> queue;  // in order; waits for room
    Transport* channel = nullptr;
    UnexpectedMemory unexpected;  // of its messages to us
    ListLink waiting;             // in waiting_peers_ while the queue is not empty

    static constexpr std::int32_t never_sent = -2;
    bool lost() const { return eager_limit == never_sent; }
  };
  static_assert(sizeof(Peer) <= 128, "what a peer costs");

  Peer& peer_of(ProcessIndex process) {
    Peer* const known = peers_[static_cast<std::size_t>(process)];
    return known != nullptr ? *known : make_peer(process);
  }
  Peer& make_peer(ProcessIndex process);

  static MessageHeader header_to(const SendTarget& target) {
    return {.traffic = target.traffic,
            .urgent = target.urgent,
            .context = target.context,
            .source_rank = target.source_rank,
            .tag = target.tag};
  }
  template <class MakeHeader>
  [[gnu::always_inline]] bool send_in_slot(Peer& peer, MakeHeader&& header, const std::byte* data,
                                           std::int64_t bytes) {
    static_assert(Slot::inline_limit <= Message::inline_bytes);
    if (!peer.ring->try_send_inline(header, data, static_cast<std::uint32_t>(bytes))) return false;
    charge(peer, static_cast<std::int64_t>(sizeof(Message)));
    return true;
  }
  void charge(Peer& peer, std::int64_t memory) {
    if (!peer.window.charge(memory)) [[unlikely]]
      peer.inline_limit = -1;
  }
  // After the queue or the window changed.
  void set_inline_limit(Peer& peer);
  bool send_due_mark(Peer& peer);
  bool transmit_eager(Peer& peer, MessageRequest& request, MessageHeader header);

  MessageRequest& take_request(MessageRequest::Direction direction) {
    MessageRequest& request = pool_.take();
    request.complete = false;
    request.persistent = false;
    request.active = true;
    request.user_freed = false;
    request.valid = true;
    request.after = MessageRequest::After::nothing;
    request.direction = direction;
    return request;
  }
  void complete(MessageRequest& request) {
    request.stage = MessageRequest::Stage::idle;
    request.complete = true;
    if (request.after != MessageRequest::After::nothing) [[unlikely]]
      conclude(request);
  }
  void conclude(MessageRequest& request);
  void leave(MessageRequest& request, MessageRequest::After after);
  void settle_left();
  SendBuffer& buffer_for(std::uint32_t context, SendBuffer* session_buffer);
  void leave_buffer(MessageRequest& send);
  void finish_receive(MessageRequest& receive, std::int32_t source_rank, std::int32_t tag,
                      std::int64_t size) {
    const std::int64_t fits = size <= receive.bytes.size ? size : receive.bytes.size;
    receive.status = {source_rank, tag, size == fits ? ErrorClass::success : ErrorClass::truncate, false,
                      fits};
    if (size != fits) [[unlikely]]
      receive.message_size = size;
    else if (!receive.bytes.contiguous()) [[unlikely]]
      check_elements(receive);
    complete(receive);
  }
  // What came in for data in pieces must be whole elements of its datatype.
  static void check_elements(MessageRequest& receive);
  void recycle(MessageRequest& request) {
    request.valid = false;
    if (!request.bytes.contiguous()) [[unlikely]] {
      if (buffers_ != this) return leave(request, MessageRequest::After::recycle);
      request.datatype = nullptr;
    }
    request.communicator = nullptr;
    pool_.give_back(request);
  }

  bool receive_waiting(const ReceivePattern& pattern, std::byte* into, std::int64_t capacity, Status* status);
  void send_to_self(MessageRequest& send);
  void enqueue(Peer& peer, MessageRequest& request);
  bool transmit(Peer& peer, MessageRequest& request);
  bool send_queued();
  void reply(ProcessIndex process, const MessageHeader& header);
  void leave_queue(MessageRequest& request);

  void on_eager_synchronous(ProcessIndex source, const MessageHeader& header, const std::byte* payload,
                            std::int64_t size);
  void store(ProcessIndex source, const MessageHeader& header, const std::byte* payload, std::int64_t size);
  void deliver(Message& message, MessageRequest& receive);
  void fetch(ProcessIndex process, const MessageHeader& header, const ExposeToken& token, std::int64_t size,
             MessageRequest& receive);
  bool withdraw_shown(MessageRequest& receive);
  void acknowledge_match(ProcessIndex process, const MessageHeader& header, bool in_vain = false);
  void drop(Message& message);
  bool closed(std::uint32_t context) const {
    return !closed_contexts_.empty() && closed_contexts_.count(context) != 0;
  }
  void refuse_closed(ProcessIndex source, const MessageHeader& header);
  static bool is_synchronous_offer(const MessageHeader& header) {
    return header.kind == MessageHeader::Kind::rendezvous && header.flags != 0;
  }
  void on_vain_send(MessageRequest& send);
  void end_in_error(MessageRequest& request, ErrorClass why);
  MessageRequest* send_named(ProcessIndex source, const MessageHeader& header);
  void on_matched(ProcessIndex source, const MessageHeader& header);
  Message& hold(ProcessIndex source, const MessageHeader& header, std::int64_t size);
  [[gnu::always_inline]] void give_back(Message& message) {
    const std::int64_t charged = message.charged;
    const ProcessIndex process = message.process;
    messages_.give_back(message);
    if (charged != 0 && !peers_.empty() && peer_of(process).unexpected.let_go(charged, bounds_.share))
        [[unlikely]]
      report_unexpected(process);
  }
  void report_unexpected(ProcessIndex process);
  void on_mark(ProcessIndex source, const MessageHeader& header);
  void on_report(ProcessIndex source, const MessageHeader& header);
  void settle(MessageRequest& send);
  void over(MessageRequest& send);
  void take_back(ProcessIndex source, const MessageHeader& header);
  void on_cancel_reply(ProcessIndex source, const MessageHeader& header);
  static MessageHeader cancel_header(const MessageRequest& send);

  RequestTable& table_;
  Lane* lane_ = nullptr;
  Progress* progress_ = nullptr;
  const ProcessTable* processes_ = nullptr;
  ChannelChoice* channels_ = nullptr;
  std::vector<Peer*> peers_;      // by process, made when first needed; empty: not connected
  std::deque<Peer> peer_places_;  // where they stay
  Matching matching_;
  RequestPool pool_;
  MessagePool messages_;
  IntrusiveList<Peer, &Peer::waiting> waiting_peers_;
  PointToPoint* buffers_ = this;       // whose buffers serve buffered sends
  std::vector<MessageRequest*> left_;  // see settle
  SendBuffer process_buffer_;
  std::map<std::uint32_t, SendBuffer> context_buffers_;
  MessageRequest sent_;
  MessageRequest null_receive_;
  UnexpectedBounds bounds_;
  std::set<std::uint32_t> closed_contexts_;
  ProcessIndex self_ = 0;
  std::int32_t next_part_tag_ = 0;
};

}  // namespace hawser
