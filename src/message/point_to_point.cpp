#include "message/point_to_point.h"

#include "base/assert.h"
#include "channel/posted_receives.h"
#include "message/transfer.h"

namespace hawser {

namespace {
// A standard send to the process itself up to this size is copied and complete at once, within the bound for
// messages that no receive wants yet; others stay with the sender until they are received.
constexpr std::int64_t self_copy_limit = 64 * 1024;
}  // namespace

PointToPoint::PointToPoint(RequestTable& table)
    : table_(table), pool_(*this, table), sent_(*this), null_receive_(*this) {
  for (MessageRequest* request : {&sent_, &null_receive_}) {
    request->complete = true;
    request->shared = true;
    request->lane = table.lane();
    table.number_of(*request);
  }
  null_receive_.status = Status::from_proc_null();
  null_receive_.direction = MessageRequest::Direction::receive;
}

PointToPoint::~PointToPoint() = default;

void PointToPoint::connect(Lane& lane, ProcessIndex self, const ProcessTable& processes,
                           ChannelChoice& channels, UnexpectedBounds bounds) {
  lane_ = &lane;
  self_ = self;
  processes_ = &processes;
  channels_ = &channels;
  bounds_ = bounds;
  learn_processes();
  lane.set_handler(HandlerId::message, this);
}

void PointToPoint::learn_processes() { peers_.resize(static_cast<std::size_t>(processes_->size())); }

// In a large job a process talks to few of the others.
PointToPoint::Peer& PointToPoint::make_peer(ProcessIndex process) {
  Peer& peer = peer_places_.emplace_back();
  peers_[static_cast<std::size_t>(process)] = &peer;
  peer.process = process;
  if (process == self_) return peer;
  peer.channel = channels_->channel_of(process);
  peer.eager_limit = static_cast<std::int32_t>(peer.channel->eager_limit(process));
  peer.window = EagerWindow(bounds_.share);
  peer.ring = peer.channel->ring_to(process);
  set_inline_limit(peer);
  return peer;
}

void PointToPoint::disconnect() {
  HAWSER_ASSERT(flushed());
  lane_->set_handler(HandlerId::message, nullptr);
  peers_.clear();
  peer_places_.clear();
}

// --- Requests ---

MessageRequest& PointToPoint::take_send(SendMode mode, const SendTarget& target, const ByteSequence& bytes) {
  MessageRequest& request = take_request(MessageRequest::Direction::send);
  request.mode = mode;
  request.process = target.process;
  request.context = target.context;
  request.source_rank = target.source_rank;
  request.tag = target.tag;
  request.traffic = target.traffic;
  request.urgent = target.urgent;
  request.bytes = bytes;
  return request;
}

MessageRequest& PointToPoint::prepare_send(SendMode mode, const SendTarget& target,
                                           const ByteSequence& bytes) {
  MessageRequest& request = take_send(mode, target, bytes);
  request.persistent = true;
  request.active = false;
  return request;
}

MessageRequest& PointToPoint::prepare_receive(const ReceivePattern& pattern, const ByteSequence& into) {
  MessageRequest& request = take_receive(pattern, into);
  request.persistent = true;
  request.active = false;
  return request;
}

Result<> PointToPoint::start(MessageRequest& request) {
  HAWSER_ASSERT(request.persistent && !request.active);
  const bool is_send = request.direction == MessageRequest::Direction::send;
  if ((is_send ? request.process : request.source_rank) == proc_null) {
    request.status = Status::from_proc_null();
  } else if (request.mode == SendMode::buffered) {
    HAWSER_TRY(
        send_buffered({request.process, request.context, request.source_rank, request.tag, request.traffic},
                      request.bytes, request.communicator.get(), request.buffer));
    request.status = Status::empty();
  } else {
    request.active = true;
    request.complete = false;
    if (closed(request.context)) [[unlikely]] {
      end_in_error(request, ErrorClass::revoked);
    } else if (is_send) {
      start_send(request);
    } else {
      start_receive(request);
      if (request.source_rank != any_source) show_receive(request, request.process);
    }
    return {};
  }
  request.active = true;
  request.complete = true;
  return {};
}

void PointToPoint::release(MessageRequest& request) {
  if (request.shared) return;
  // Suspended, if it is complete and posted (failing.cpp).
  if (request.active && (!request.complete || request.stage == MessageRequest::Stage::posted)) {
    request.complete = false;
    request.user_freed = true;
    request.after = MessageRequest::After::recycle;
    return;
  }
  recycle(request);
}

void PointToPoint::conclude(MessageRequest& request) {
  const MessageRequest::After after = request.after;
  request.after = MessageRequest::After::nothing;
  // A message that came in small, so it was never written there.
  if (request.shown >= 0 && !withdraw_shown(request))
    refuse(request.process, "a message for a receive into which it writes another");
  switch (after) {
    case MessageRequest::After::nothing:
    case MessageRequest::After::withdraw:
      return;
    case MessageRequest::After::recycle:
      return recycle(request);
    case MessageRequest::After::release_buffer:
      if (buffers_ != this) return leave(request, after);
      leave_buffer(request);
      return recycle(request);
    case MessageRequest::After::tell_listener:
      return request.listener->one_done(request);
  }
}

void PointToPoint::leave(MessageRequest& request, MessageRequest::After after) {
  request.after = after;
  left_.push_back(&request);
}

void PointToPoint::settle_left() {
  for (MessageRequest* const request : std::exchange(left_, {})) {
    if (request->after == MessageRequest::After::release_buffer) leave_buffer(*request);
    request->valid = false;
    request->datatype = nullptr;
    request->communicator = nullptr;
    pool_.give_back(*request);
  }
}

// --- Sends ---

MessageRequest& PointToPoint::isend(SendMode mode, const SendTarget& target, const ByteSequence& bytes) {
  if (mode == SendMode::standard && send_now(target, bytes)) return sent_;
  MessageRequest& request = take_send(mode, target, bytes);
  start_send(request);
  return request;
}

void PointToPoint::start_send(MessageRequest& request) {
  request.cancelling = false;
  request.settled = false;
  request.fault = ErrorClass::success;
  request.status = Status::empty();
  if (request.process == self_) return send_to_self(request);
  Peer& peer = peer_of(request.process);
  if (peer.lost()) [[unlikely]]
    return end_in_error(request, ErrorClass::proc_failed);
  if (!peer.queue.empty() || !transmit(peer, request)) enqueue(peer, request);
}

void PointToPoint::enqueue(Peer& peer, MessageRequest& request) {
  request.stage = MessageRequest::Stage::queued;
  if (peer.queue.empty()) waiting_peers_.push_back(&peer);
  peer.queue.push_back(&request);
  set_inline_limit(peer);
}

// A queued request is not wanted any more.
void PointToPoint::leave_queue(MessageRequest& request) {
  Peer& peer = peer_of(request.process);
  peer.queue.remove(&request);
  if (peer.queue.empty()) waiting_peers_.remove(&peer);
  set_inline_limit(peer);
}

void PointToPoint::set_inline_limit(Peer& peer) {
  const bool direct = peer.ring != nullptr && peer.queue.empty() && peer.window.open() && !peer.lost();
  peer.inline_limit = direct ? std::int64_t{Slot::inline_limit} : -1;
}

// False: the peer must be told how far we have come, and there is no room now.
bool PointToPoint::send_due_mark(Peer& peer) {
  if (!peer.window.mark_due()) return true;
  const MessageHeader mark = UnexpectedReport{peer.window.position(), 0}.header(MessageHeader::Kind::mark);
  if (!peer.channel->try_send(peer.process, mark, ByteSequence{})) return false;
  peer.window.note_mark();
  set_inline_limit(peer);
  return true;
}

// Hands a send or a reply to its channel; false when there is no room now.
bool PointToPoint::transmit(Peer& peer, MessageRequest& request) {
  if (request.direction == MessageRequest::Direction::reply) {
    if (!peer.channel->try_send(request.process, request.reply, ByteSequence{})) return false;
    request.complete = true;
    recycle(request);
    return true;
  }
  const bool short_enough = request.bytes.size <= peer.eager_limit;
  if (short_enough && !peer.window.open() && !send_due_mark(peer)) return false;
  MessageHeader header = header_to(
      {request.process, request.context, request.source_rank, request.tag, request.traffic, request.urgent});
  // What is not longer than an envelope needs none, see transmit_eager.
  if (short_enough && (peer.window.open() || request.bytes.size <= Message::inline_bytes))
    return transmit_eager(peer, request, header);
  header.kind = MessageHeader::Kind::rendezvous;
  header.flags = request.mode == SendMode::synchronous;
  header.sender_request = request.handle;
  // The channel may not report before this call returns, but the stage must be right whenever it does.
  const MessageRequest::Stage former = request.stage;
  request.stage = MessageRequest::Stage::exposed;
  if (peer.channel->try_expose(request.process, header, request.bytes, &request.transfer())) return true;
  request.stage = former;
  return false;
}

// With the window closed the sender waits until a receive has taken the message, as with an envelope.
bool PointToPoint::transmit_eager(Peer& peer, MessageRequest& request, MessageHeader header) {
  const bool waits = request.mode == SendMode::synchronous || !peer.window.open();
  if (waits) {
    header.kind = MessageHeader::Kind::eager_synchronous;
    header.urgent = 1;
    header.sender_request = request.handle;
  }
  if (!peer.channel->try_send(request.process, header, request.bytes)) return false;
  charge(peer, memory_of_unexpected(request.bytes.size));
  if (waits)
    request.stage = MessageRequest::Stage::awaiting_match;
  else
    complete(request);
  return true;
}

bool PointToPoint::send_queued() {
  bool moved = false;
  for (Peer* peer = waiting_peers_.front(); peer != nullptr;) {
    Peer* const next = waiting_peers_.next(peer);
    while (MessageRequest* request = peer->queue.front()) {
      // Out of the queue first: once transmitted, the request may be recycled.
      peer->queue.remove(request);
      if (!transmit(*peer, *request)) {
        peer->queue.push_front(request);
        break;
      }
      moved = true;
    }
    if (peer->queue.empty()) {
      waiting_peers_.remove(peer);
      set_inline_limit(*peer);
    }
    peer = next;
  }
  return moved;
}

void PointToPoint::reply(ProcessIndex process, const MessageHeader& header) {
  Peer& peer = peer_of(process);
  if (peer.lost() || (peer.queue.empty() && peer.channel->try_send(process, header, ByteSequence{}))) return;
  MessageRequest& request = take_request(MessageRequest::Direction::reply);
  request.valid = false;
  request.process = process;
  request.reply = header;
  enqueue(peer, request);
}

void PointToPoint::send_to_self(MessageRequest& send) {
  MessageRequest* receive = matching_.match(send.context, send.source_rank, send.tag);
  if (receive != nullptr) {
    copy_between(receive->bytes, send.bytes);
    finish_receive(*receive, send.source_rank, send.tag, send.bytes.size);
    return complete(send);
  }
  UnexpectedMemory& own = peer_of(self_).unexpected;
  const std::int64_t memory = memory_of_unexpected(send.bytes.size);
  const bool copied = send.mode == SendMode::standard && send.bytes.size <= self_copy_limit &&
                      own.held() + memory <= bounds_.own;
  const MessageHeader header{.context = send.context,
                             .source_rank = send.source_rank,
                             .tag = send.tag,
                             .sender_request = send.handle};
  Message& message = messages_.take(header, self_, send.bytes.size, copied ? send.bytes.size : 0);
  matching_.add(message);
  if (copied) {
    message.charged = memory;
    own.hold(memory);
    copy_from(message.payload(), send.bytes);
    complete(send);
  } else {
    message.self_send = &send;
    send.stage = MessageRequest::Stage::held;
  }
}

// --- Receives ---

MessageRequest& PointToPoint::ireceive(const ReceivePattern& pattern, const ByteSequence& into) {
  MessageRequest& request = take_receive(pattern, into);
  start_receive(request);
  return request;
}

void PointToPoint::show_receive(MessageRequest& receive, ProcessIndex source) {
  if (receive.stage != MessageRequest::Stage::posted || source == self_ || !receive.bytes.contiguous())
    return;
  const Peer& peer = peer_of(source);
  PostedReceives* const posted = peer.channel->posted_receives();
  if (posted == nullptr || receive.bytes.size <= peer.eager_limit ||
      !matching_.first_or_behind_shown(receive))
    return;
  const MessageHeader header{.kind = MessageHeader::Kind::rendezvous,
                             .context = receive.context,
                             .source_rank = receive.source_rank,
                             .tag = receive.tag};
  const MessageHeader mask{.handler = static_cast<HandlerId>(0xff),
                           .traffic = static_cast<TrafficClass>(0),
                           .kind = static_cast<MessageHeader::Kind>(0xff),
                           .context = ~std::uint32_t{0},
                           .source_rank = -1,
                           .tag = receive.tag == any_tag ? 0 : -1};
  receive.shown = static_cast<std::int8_t>(posted->show(source, header, mask, receive.bytes));
  if (receive.shown < 0) return;
  receive.process = source;
  if (receive.after == MessageRequest::After::nothing) receive.after = MessageRequest::After::withdraw;
}

// False: its message is being written there.
bool PointToPoint::withdraw_shown(MessageRequest& receive) {
  const bool withdrawn = peer_of(receive.process).channel->posted_receives()->withdraw(receive.shown);
  if (withdrawn) receive.shown = -1;
  return withdrawn;
}

bool PointToPoint::probe(const ReceivePattern& pattern, Status& status) {
  const Message* message = matching_.find(pattern);
  if (message == nullptr) return false;
  status = {message->header.source_rank, message->header.tag, ErrorClass::success, false, message->size};
  return true;
}

Message* PointToPoint::matched_probe(const ReceivePattern& pattern, Status& status) {
  Message* message = matching_.find(pattern);
  if (message == nullptr) return nullptr;
  status = {message->header.source_rank, message->header.tag, ErrorClass::success, false, message->size};
  matching_.remove(*message);
  return message;
}

// Gives a message that is out of the queues to its receive.
void PointToPoint::deliver(Message& message, MessageRequest& receive) {
  const MessageHeader& header = message.header;
  if (MessageRequest* send = message.self_send) {
    copy_between(receive.bytes, send->bytes);
    finish_receive(receive, header.source_rank, header.tag, message.size);
    complete(*send);
  } else if (header.kind == MessageHeader::Kind::rendezvous) {
    fetch(message.process, header, message.token(), message.size, receive);
  } else {
    if (header.kind == MessageHeader::Kind::eager_synchronous) acknowledge_match(message.process, header);
    if (message.arriving) {
      message.receiver = &receive;
      receive.stage = MessageRequest::Stage::arriving;
      return;  // on_arrived goes on
    }
    copy_into(receive.bytes, message.payload(), message.size);
    finish_receive(receive, header.source_rank, header.tag, message.size);
  }
  give_back(message);
}

bool PointToPoint::receive_waiting(const ReceivePattern& pattern, std::byte* into, std::int64_t capacity,
                                   Status* status) {
  Message* const message = matching_.take(pattern, [&](const Message& first) {
    return first.header.kind == MessageHeader::Kind::eager && first.size <= capacity &&
           first.self_send == nullptr && first.arriving == nullptr;
  });
  if (message == nullptr) return false;
  copy_bytes(into, message->payload(), message->size);
  if (status != nullptr)
    *status = {message->header.source_rank, message->header.tag, ErrorClass::success, false, message->size};
  give_back(*message);
  return true;
}

void PointToPoint::fetch(ProcessIndex process, const MessageHeader& header, const ExposeToken& token,
                         std::int64_t size, MessageRequest& receive) {
  receive.stage = MessageRequest::Stage::arriving;
  receive.process = process;
  receive.status.source = header.source_rank;
  receive.status.tag = header.tag;
  receive.message_size = size;
  Transport& channel = *peer_of(process).channel;
  const ByteSequence into = front_of(receive.bytes, size);
  if (receive.shown >= 0)
    return channel.posted_receives()->fetch_shown(std::exchange(receive.shown, std::int8_t{-1}), process,
                                                  token, into, &receive.transfer());
  channel.fetch(process, token, into, &receive.transfer());
}

void PointToPoint::acknowledge_match(ProcessIndex process, const MessageHeader& header, bool in_vain) {
  MessageHeader answer = header;
  answer.kind = MessageHeader::Kind::matched;
  answer.flags = in_vain;
  answer.urgent = 0;
  reply(process, answer);
}

void PointToPoint::release_context(std::uint32_t context) {
  matching_.release_context(context, [this](Message& message) { drop(message); });
  context_buffers_.erase(context);
}

// Gives up a message that is out of the queues and that nobody will receive.
void PointToPoint::drop(Message& message) {
  // Its sender may wait for a receive that takes it.
  if (closed(message.header.context)) refuse_closed(message.process, message.header);
  if (message.arriving) {
    message.dropped = true;
    return;  // on_arrived gives it back
  }
  if (message.header.kind == MessageHeader::Kind::rendezvous)
    peer_of(message.process).channel->fetch(message.process, message.token(), ByteSequence{}, nullptr);
  if (message.self_send != nullptr) complete(*message.self_send);
  give_back(message);
}

void PointToPoint::report_unexpected(ProcessIndex process) {
  reply(process, peer_of(process).unexpected.report().header(MessageHeader::Kind::report));
}

}  // namespace hawser
