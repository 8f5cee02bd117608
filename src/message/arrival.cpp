// What PointToPoint does with what its channels report. A header is another process's word: whatever stands
// in it must lead to a delivered message or to on_bad_packet, never to an assertion or to somebody else's
// request.
#include <fmt/core.h>

#include "base/assert.h"
#include "message/point_to_point.h"
#include "message/transfer.h"

namespace hawser {

namespace {

// The cookie of a long eager message names the receive it goes to or, with the lowest bit set, the Message.
void* message_cookie(Message& message) {
  return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(&message) | 1);
}
bool names_message(void* cookie) { return (reinterpret_cast<std::uintptr_t>(cookie) & 1) != 0; }
Message& message_of(void* cookie) {
  return *reinterpret_cast<Message*>(reinterpret_cast<std::uintptr_t>(cookie) & ~std::uintptr_t{1});
}

// Matching looks at the rank and the tag of the receive, for which negative numbers stand for any. A header
// that bears one meets no posted receive by it, so it is enough to look when a message finds none.
bool well_addressed(const MessageHeader& header) { return header.source_rank >= 0 && header.tag >= 0; }
std::string address_of(const MessageHeader& header) {
  return fmt::format("a message with tag {} from rank {} of its communicator", header.tag,
                     header.source_rank);
}

}  // namespace

void PointToPoint::on_packet(ProcessIndex source, const MessageHeader& header, const std::byte* payload,
                             std::int64_t payload_size, std::int64_t message_size) {
  if (header.kind == MessageHeader::Kind::eager) [[likely]] {
    MessageRequest* receive = matching_.match(header.context, header.source_rank, header.tag);
    if (receive != nullptr) [[likely]] {
      copy_into(receive->bytes, payload, payload_size);
      return finish_receive(*receive, header.source_rank, header.tag, payload_size);
    }
    return store(source, header, payload, payload_size);
  }
  on_rare_packet(source, header, payload, payload_size, message_size);
}

void PointToPoint::store(ProcessIndex source, const MessageHeader& header, const std::byte* payload,
                         std::int64_t size) {
  if (!well_addressed(header)) [[unlikely]]
    return on_bad_packet(source, address_of(header));
  Message& message = hold(source, header, size);
  copy_bytes(message.payload(), payload, size);
  matching_.add(message);
}

Message& PointToPoint::hold(ProcessIndex source, const MessageHeader& header, std::int64_t size) {
  Message& message = messages_.take(header, source, size, size);
  message.charged = memory_of_unexpected(size);
  peers_[source].unexpected.hold(message.charged);
  return message;
}

void PointToPoint::on_rare_packet(ProcessIndex source, const MessageHeader& header, const std::byte* payload,
                                  std::int64_t payload_size, std::int64_t message_size) {
  switch (header.kind) {
    case MessageHeader::Kind::eager:
    case MessageHeader::Kind::eager_synchronous: {
      MessageRequest* receive = matching_.match(header.context, header.source_rank, header.tag);
      if (receive == nullptr) return store(source, header, payload, payload_size);
      copy_into(receive->bytes, payload, payload_size);
      acknowledge_match(source, header);
      return finish_receive(*receive, header.source_rank, header.tag, payload_size);
    }
    case MessageHeader::Kind::rendezvous:
      return on_rendezvous(source, header, payload, payload_size, message_size);
    case MessageHeader::Kind::matched:
      return on_matched(source, header);
    case MessageHeader::Kind::cancel:
      return take_back(source, header);
    case MessageHeader::Kind::cancel_reply:
      return on_cancel_reply(source, header);
    case MessageHeader::Kind::mark:
      return on_mark(source, header);
    case MessageHeader::Kind::report:
      return on_report(source, header);
  }
  on_bad_packet(source, fmt::format("a message of unknown kind {}", static_cast<int>(header.kind)));
}

void PointToPoint::on_rendezvous(ProcessIndex source, const MessageHeader& header, const std::byte* payload,
                                 std::int64_t payload_size, std::int64_t message_size) {
  ExposeToken token;
  if (!well_addressed(header)) return on_bad_packet(source, address_of(header));
  if (payload_size != static_cast<std::int64_t>(sizeof token) || message_size < 0)
    return on_bad_packet(source, fmt::format("an offer of {} bytes with a token of {} bytes instead of {}",
                                             message_size, payload_size, sizeof token));
  std::memcpy(&token, payload, sizeof token);
  MessageRequest* receive = matching_.match(header.context, header.source_rank, header.tag);
  if (receive != nullptr) return fetch(source, header, token, message_size, *receive);
  Message& message = messages_.take(header, source, message_size, 0);
  message.token = token;
  matching_.add(message);
}

void PointToPoint::on_mark(ProcessIndex source, const MessageHeader& header) {
  UnexpectedMemory& unexpected = peers_[source].unexpected;
  unexpected.on_mark(UnexpectedReport::from(header).position);
  reply(source, unexpected.report().header(MessageHeader::Kind::report));
}

void PointToPoint::on_report(ProcessIndex source, const MessageHeader& header) {
  Peer& peer = peers_[source];
  const UnexpectedReport report = UnexpectedReport::from(header);
  if (!peer.window.on_report(report))
    return on_bad_packet(
        source, fmt::format("a report that it holds {} bytes at position {}, which we have not reached",
                            report.held, report.position));
  set_inline_limit(peer);
}

// The send that a reply is about; null if the peer has none of that number, or of that context and tag.
MessageRequest* PointToPoint::send_named(ProcessIndex source, const MessageHeader& header) {
  Request* request = table_.find_any(header.sender_request);
  if (request == nullptr || request->kind != Request::Kind::message) return nullptr;
  auto& send = static_cast<MessageRequest&>(*request);
  const bool under_way =
      send.stage == MessageRequest::Stage::awaiting_match || send.stage == MessageRequest::Stage::exposed;
  return under_way && send.process == source && send.context == header.context && send.tag == header.tag
             ? &send
             : nullptr;
}

void PointToPoint::on_matched(ProcessIndex source, const MessageHeader& header) {
  MessageRequest* const send = send_named(source, header);
  if (send == nullptr || send->stage != MessageRequest::Stage::awaiting_match || send->settled)
    return on_bad_packet(source,
                         fmt::format("an acknowledgement of synchronous send {}, which waits for none",
                                     header.sender_request));
  settle(*send);
}

void PointToPoint::on_bad_packet(ProcessIndex source, std::string what) {
  if (!bad_packet_.empty()) return;
  bad_packet_ = fmt::format("rank {} sent {}; do all ranks use the same version of Hawser?", source, what);
  if (end_job_) end_job_(bad_packet_);
}

EagerSink PointToPoint::on_eager_begin(ProcessIndex source, const MessageHeader& header,
                                       std::int64_t message_size) {
  const bool eager =
      header.kind == MessageHeader::Kind::eager || header.kind == MessageHeader::Kind::eager_synchronous;
  if (!eager || message_size < 0 || !well_addressed(header)) [[unlikely]] {
    on_bad_packet(source, !well_addressed(header) ? address_of(header)
                                                  : fmt::format("{} bytes in pieces with a header of kind {}",
                                                                message_size, static_cast<int>(header.kind)));
    return {};
  }
  MessageRequest* receive = matching_.match(header.context, header.source_rank, header.tag);
  if (receive != nullptr) {
    receive->stage = MessageRequest::Stage::arriving;
    receive->status.source = header.source_rank;
    receive->status.tag = header.tag;
    receive->message_size = message_size;
    if (header.kind == MessageHeader::Kind::eager_synchronous) acknowledge_match(source, header);
    return {front_of(receive->bytes, message_size), receive};
  }
  Message& message = hold(source, header, message_size);
  message.arriving = true;
  matching_.add(message);
  return {ByteSequence{message.payload(), message_size, nullptr}, message_cookie(message)};
}

void PointToPoint::on_eager_end(ProcessIndex, void* cookie) {
  if (cookie == nullptr) return;  // a message that was refused
  if (!names_message(cookie)) {
    auto& receive = *static_cast<MessageRequest*>(cookie);
    return finish_receive(receive, receive.status.source, receive.status.tag, receive.message_size);
  }
  Message& message = message_of(cookie);
  message.arriving = false;
  if (message.receiver != nullptr) {
    copy_into(message.receiver->bytes, message.payload(), message.size);
    finish_receive(*message.receiver, message.header.source_rank, message.header.tag, message.size);
    give_back(message);
  } else if (message.dropped) {
    give_back(message);
  }
}

void PointToPoint::on_fetched(void* cookie, Result<> result) {
  if (cookie == nullptr) return;  // a message that was dropped
  auto& receive = *static_cast<MessageRequest*>(cookie);
  HAWSER_ASSERT(receive.stage == MessageRequest::Stage::arriving);
  if (!result) [[unlikely]] {
    receive.status.error = error_class_of(result.error());
    receive.status.cancelled = false;
    receive.status.bytes = 0;
    return complete(receive);
  }
  finish_receive(receive, receive.status.source, receive.status.tag, receive.message_size);
}

void PointToPoint::on_exposed_done(void* cookie, Result<> result) {
  auto& send = *static_cast<MessageRequest*>(cookie);
  HAWSER_ASSERT(send.stage == MessageRequest::Stage::exposed);
  if (!result) [[unlikely]]
    send.status.error = error_class_of(result.error());
  settle(send);
}

// A program whose types do not match is wrong, and here it is noticed without cost for what is right.
void PointToPoint::check_elements(MessageRequest& receive) {
  if (!receive.datatype) return;  // a part of a collective operation, packed
  const Elementary kind = receive.datatype->elementary;
  if (kind == Elementary::none || kind == Elementary::pair) return;
  if (receive.status.bytes % facts(kind).size != 0) receive.status.error = ErrorClass::type;
}

// --- Cancelling (MPI-5.0 section 3.8.4) ---

void PointToPoint::cancel(MessageRequest& request) {
  if (request.complete || !request.active) return;
  switch (request.stage) {
    case MessageRequest::Stage::idle:
    case MessageRequest::Stage::arriving:
      return;
    case MessageRequest::Stage::posted:
      matching_.withdraw(request);
      break;
    case MessageRequest::Stage::queued:
      leave_queue(request);
      break;
    case MessageRequest::Stage::held: {
      Message* message = matching_.find_sent_by(cancel_header(request), self_);
      if (message == nullptr) return;  // a matched probe has it
      matching_.remove(*message);
      give_back(*message);
      break;
    }
    case MessageRequest::Stage::awaiting_match:
    case MessageRequest::Stage::exposed:
      if (request.cancelling || request.settled) return;
      request.cancelling = true;
      return reply(request.process, cancel_header(request));
  }
  request.status = Status::empty();
  request.status.cancelled = true;
  complete(request);
}

MessageHeader PointToPoint::cancel_header(const MessageRequest& send) {
  return {MessageHeader::Kind::cancel, 0, 0, send.context, send.source_rank, send.tag, send.handle, 0};
}

// The sender wants a message back that may have met its receive already.
void PointToPoint::take_back(ProcessIndex source, const MessageHeader& header) {
  MessageHeader answer = header;
  answer.kind = MessageHeader::Kind::cancel_reply;
  answer.flags = 0;
  if (Message* message = matching_.find_sent_by(header, source)) {
    answer.flags = 1;
    matching_.remove(*message);
    drop(*message);
  }
  reply(source, answer);
}

void PointToPoint::on_cancel_reply(ProcessIndex source, const MessageHeader& header) {
  MessageRequest* const named = send_named(source, header);
  if (named == nullptr || !named->cancelling)
    return on_bad_packet(source, fmt::format("an answer about cancelling send {}, for which it was not asked",
                                             header.sender_request));
  MessageRequest& send = *named;
  const bool taken_back = header.flags != 0;
  send.cancelling = false;
  send.status.cancelled = taken_back;
  // Bytes that were exposed must be free before the send is over, whatever the outcome; a synchronous send
  // that was taken back will hear nothing more.
  if (send.settled || (taken_back && send.stage == MessageRequest::Stage::awaiting_match)) complete(send);
}

// The message met its receive, or its bytes are free again.
void PointToPoint::settle(MessageRequest& send) {
  send.settled = true;
  if (!send.cancelling) complete(send);
}

}  // namespace hawser
