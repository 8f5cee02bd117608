// What PointToPoint does with what its channels report. A header is another process's word: whatever stands
// in it must lead to a delivered message or to a word about its sender, never to an assertion or to somebody
// else's request.
#include <fmt/core.h>

#include <utility>

#include "base/assert.h"
#include "message/point_to_point.h"
#include "message/transfer.h"

namespace hawser {

namespace {

// Matching looks at the rank and the tag of the receive, for which negative numbers stand for any. A header
// that bears one meets no posted receive by it, so it is enough to look when a message finds none.
bool well_addressed(const MessageHeader& header) { return header.source_rank >= 0 && header.tag >= 0; }
std::string address_of(const MessageHeader& header) {
  return fmt::format("a message with tag {} from rank {} of its communicator", header.tag,
                     header.source_rank);
}

}  // namespace

void PointToPoint::on_packet(ProcessIndex source, const TransportHeader& general, const std::byte* payload,
                             std::int64_t size) {
  const MessageHeader& header = MessageHeader::of(general);
  switch (header.kind) {
    case MessageHeader::Kind::eager:
      return on_eager(source, header, payload, size);
    case MessageHeader::Kind::eager_synchronous:
      return on_eager_synchronous(source, header, payload, size);
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
    case MessageHeader::Kind::rendezvous:
      return refuse(source, fmt::format("an offer as a packet of {} bytes instead of {} that name what is "
                                        "offered",
                                        size, sizeof(ExposeToken)));
  }
  refuse(source, fmt::format("a message of unknown kind {}", static_cast<int>(header.kind)));
}

void PointToPoint::store(ProcessIndex source, const MessageHeader& header, const std::byte* payload,
                         std::int64_t size) {
  if (!well_addressed(header)) [[unlikely]]
    return refuse(source, address_of(header));
  if (closed(header.context)) [[unlikely]]
    return refuse_closed(source, header);
  Message& message = hold(source, header, size);
  copy_bytes(message.payload(), payload, size);
  matching_.add(message);
}

Message& PointToPoint::hold(ProcessIndex source, const MessageHeader& header, std::int64_t size) {
  Message& message = messages_.take(header, source, size, size);
  message.charged = memory_of_unexpected(size);
  peer_of(source).unexpected.hold(message.charged);
  return message;
}

void PointToPoint::on_eager(ProcessIndex source, const MessageHeader& header, const std::byte* payload,
                            std::int64_t size) {
  MessageRequest* receive = matching_.match(header.context, header.source_rank, header.tag);
  if (receive != nullptr) [[likely]] {
    copy_into(receive->bytes, payload, size);
    return finish_receive(*receive, header.source_rank, header.tag, size);
  }
  store(source, header, payload, size);
}

void PointToPoint::on_eager_synchronous(ProcessIndex source, const MessageHeader& header,
                                        const std::byte* payload, std::int64_t size) {
  MessageRequest* receive = matching_.match(header.context, header.source_rank, header.tag);
  if (receive == nullptr) return store(source, header, payload, size);
  copy_into(receive->bytes, payload, size);
  acknowledge_match(source, header);
  finish_receive(*receive, header.source_rank, header.tag, size);
}

void PointToPoint::on_offer(ProcessIndex source, const TransportHeader& general, const ExposeToken& token,
                            std::int64_t size) {
  const MessageHeader& header = MessageHeader::of(general);
  if (header.kind != MessageHeader::Kind::rendezvous)
    return refuse(source, fmt::format("an offer of {} bytes with a header of kind {}", size,
                                      static_cast<int>(header.kind)));
  if (!well_addressed(header)) return refuse(source, address_of(header));
  if (size < 0) return refuse(source, fmt::format("an offer of {} bytes", size));
  MessageRequest* receive = matching_.match(header.context, header.source_rank, header.tag);
  if (receive != nullptr) return fetch(source, header, token, size, *receive);
  Message& message = messages_.take(header, source, size, 0);
  message.set_token(token);
  if (closed(header.context)) [[unlikely]] {
    if (!is_synchronous_offer(header)) return drop(message);
    refuse_closed(source, header);
  }
  matching_.add(message);
}

void PointToPoint::on_mark(ProcessIndex source, const MessageHeader& header) {
  UnexpectedMemory& unexpected = peer_of(source).unexpected;
  unexpected.on_mark(UnexpectedReport::from(header).position);
  reply(source, unexpected.report().header(MessageHeader::Kind::report));
}

void PointToPoint::on_report(ProcessIndex source, const MessageHeader& header) {
  Peer& peer = peer_of(source);
  const UnexpectedReport report = UnexpectedReport::from(header);
  if (!peer.window.on_report(report))
    return refuse(source,
                  fmt::format("a report that it holds {} bytes at position {}, which we have not reached",
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
  if (header.flags != 0) [[unlikely]] {
    if (send != nullptr) on_vain_send(*send);  // else it was taken back meanwhile
    return;
  }
  if (send == nullptr || send->stage != MessageRequest::Stage::awaiting_match || send->settled)
    return refuse(source, fmt::format("an acknowledgement of synchronous send {}, which waits for none",
                                      header.sender_request));
  settle(*send);
}

EagerSink PointToPoint::on_eager_begin(ProcessIndex source, const TransportHeader& general,
                                       std::int64_t size) {
  const MessageHeader& header = MessageHeader::of(general);
  const bool eager =
      header.kind == MessageHeader::Kind::eager || header.kind == MessageHeader::Kind::eager_synchronous;
  if (!eager || size < 0 || !well_addressed(header)) [[unlikely]] {
    refuse(source, !well_addressed(header) ? address_of(header)
                                           : fmt::format("{} bytes in pieces with a header of kind {}", size,
                                                         static_cast<int>(header.kind)));
    return {};
  }
  MessageRequest* receive = matching_.match(header.context, header.source_rank, header.tag);
  if (receive != nullptr) {
    receive->stage = MessageRequest::Stage::arriving;
    receive->status.source = header.source_rank;
    receive->status.tag = header.tag;
    receive->message_size = size;
    if (header.kind == MessageHeader::Kind::eager_synchronous) acknowledge_match(source, header);
    return {front_of(receive->bytes, size), &receive->transfer()};
  }
  Message& message = hold(source, header, size);
  message.arriving = this;
  if (closed(header.context)) [[unlikely]]
    drop(message);
  else
    matching_.add(message);
  return {ByteSequence{message.payload(), size, nullptr}, &message};
}

void Message::on_complete(Result<> result) { arriving->on_arrived(*this, static_cast<bool>(result)); }

void PointToPoint::on_arrived(Message& message, bool whole) {
  message.arriving = nullptr;
  MessageRequest* const receiver = std::exchange(message.receiver, nullptr);
  if (!whole) [[unlikely]] {
    // Its sender failed in the middle. A receive that it met fails with it.
    if (receiver != nullptr)
      end_in_error(*receiver, ErrorClass::proc_failed);
    else if (!message.dropped)
      matching_.remove(message);
    return give_back(message);
  }
  if (receiver != nullptr) {
    copy_into(receiver->bytes, message.payload(), message.size);
    finish_receive(*receiver, message.header.source_rank, message.header.tag, message.size);
    give_back(message);
  } else if (message.dropped) {
    give_back(message);
  }
}

void PointToPoint::on_transferred(MessageRequest& request, Result<> result) {
  if (request.direction == MessageRequest::Direction::send) {
    HAWSER_ASSERT(request.stage == MessageRequest::Stage::exposed);
    if (!result) [[unlikely]]
      request.fault = error_class_of(result.error());
    return settle(request);
  }
  HAWSER_ASSERT(request.stage == MessageRequest::Stage::arriving);
  if (!result) [[unlikely]] {
    request.status.error = error_class_of(result.error());
    request.status.cancelled = false;
    request.status.bytes = 0;
    return complete(request);
  }
  finish_receive(request, request.status.source, request.status.tag, request.message_size);
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
  const bool suspended = request.complete && request.stage == MessageRequest::Stage::posted;
  if ((request.complete && !suspended) || !request.active) return;
  switch (request.stage) {
    case MessageRequest::Stage::idle:
    case MessageRequest::Stage::arriving:
      return;
    case MessageRequest::Stage::posted:
      if (request.shown >= 0 && !withdraw_shown(request)) return;
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
  if (request.fault != ErrorClass::success) return end_in_error(request, request.fault);
  request.status = Status::empty();
  request.status.cancelled = true;
  complete(request);
}

MessageHeader PointToPoint::cancel_header(const MessageRequest& send) {
  return {.urgent = 1,
          .kind = MessageHeader::Kind::cancel,
          .context = send.context,
          .source_rank = send.source_rank,
          .tag = send.tag,
          .sender_request = send.handle};
}

// The sender wants a message back that may have met its receive already.
void PointToPoint::take_back(ProcessIndex source, const MessageHeader& header) {
  MessageHeader answer = header;
  answer.kind = MessageHeader::Kind::cancel_reply;
  answer.urgent = 0;
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
    return refuse(source, fmt::format("an answer about cancelling send {}, for which it was not asked",
                                      header.sender_request));
  MessageRequest& send = *named;
  const bool taken_back = header.flags != 0;
  send.cancelling = false;
  send.status.cancelled = taken_back;
  // Bytes that were exposed must be free before the send is over, whatever the outcome; a synchronous send
  // that was taken back will hear nothing more.
  if (send.settled || (taken_back && send.stage == MessageRequest::Stage::awaiting_match)) over(send);
}

// Of a send that was under way.
void PointToPoint::over(MessageRequest& send) {
  if (send.fault != ErrorClass::success) [[unlikely]]
    return end_in_error(send, send.fault);
  complete(send);
}

// The message met its receive, or its bytes are free again.
void PointToPoint::settle(MessageRequest& send) {
  send.settled = true;
  if (!send.cancelling) over(send);
}

}  // namespace hawser
