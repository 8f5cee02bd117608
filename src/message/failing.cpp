// What PointToPoint does when processes fail and communicators are revoked (src/survival/).
#include "channel/posted_receives.h"
#include "message/point_to_point.h"

namespace hawser {

void PointToPoint::lose_peer(ProcessIndex process) {
  Peer& peer = peer_of(process);
  if (peer.lost() || process == self_) return;
  peer.eager_limit = Peer::never_sent;
  set_inline_limit(peer);
  while (MessageRequest* request = peer.queue.front()) {
    leave_queue(*request);
    if (request->direction != MessageRequest::Direction::reply) {
      end_in_error(*request, ErrorClass::proc_failed);
      continue;
    }
    request->complete = true;
    recycle(*request);
  }
  // It answers no question whether a message can be taken back.
  pool_.for_each_pending([&](MessageRequest& request) {
    if (request.direction != MessageRequest::Direction::send || request.process != process ||
        !request.cancelling)
      return;
    request.cancelling = false;
    if (request.settled || request.stage == MessageRequest::Stage::awaiting_match)
      end_in_error(request, ErrorClass::proc_failed);
  });
}

void PointToPoint::end_in_error(MessageRequest& request, ErrorClass why) {
  const Status was = request.status;
  request.status = Status::empty();
  if (request.direction == MessageRequest::Direction::receive)
    request.status = {was.source, was.tag, ErrorClass::success, false, 0};
  request.status.error = why;
  request.fault = ErrorClass::success;
  complete(request);
}

MessageRequest& PointToPoint::send_in_vain(SendMode mode, const SendTarget& target, ErrorClass why) {
  MessageRequest& request = take_send(mode, target, {});
  end_in_error(request, why);
  return request;
}

void PointToPoint::fail(MessageRequest& request, ErrorClass why) {
  using Stage = MessageRequest::Stage;
  const bool suspended = request.complete && request.stage == Stage::posted;
  if ((request.complete && !suspended) || !request.active || request.fault != ErrorClass::success) return;
  switch (request.stage) {
    case Stage::idle:
      return;
    case Stage::arriving:
      return;  // what has begun to come ends by itself, if need be in error
    case Stage::posted:
      if (request.shown >= 0 && !withdraw_shown(request)) {
        // Its sender is writing, and will say so; one that has failed never will.
        if (!has_lost(request.process)) return;
        peer_of(request.process).channel->posted_receives()->take_away(request.shown);
        request.shown = -1;
      }
      matching_.withdraw(request);
      request.status.source = request.source_rank;
      request.status.tag = request.tag;
      break;
    case Stage::queued:
      leave_queue(request);
      break;
    case Stage::held:
    case Stage::awaiting_match:
    case Stage::exposed:
      if (request.stage == Stage::awaiting_match && has_lost(request.process)) break;
      request.fault = why;
      // A peer that has failed takes nothing any more, and the channel ends what it was offered.
      if (!has_lost(request.process)) cancel(request);
      return;
  }
  end_in_error(request, why);
}

void PointToPoint::fail_pending(FunctionRef<ErrorClass(const MessageRequest&)> why) {
  pool_.for_each_pending([&](MessageRequest& request) {
    if (request.direction == MessageRequest::Direction::flush ||
        request.direction == MessageRequest::Direction::reply)
      return;
    const ErrorClass reason = why(request);
    if (reason == ErrorClass::success) return;
    // A part of something larger has no one who would go on with it.
    const bool part = request.after == MessageRequest::After::tell_listener;
    if (reason != ErrorClass::proc_failed_pending)
      fail(request, reason);
    else if (part)
      fail(request, ErrorClass::proc_failed);
    else
      suspend(request);
  });
}

void PointToPoint::suspend(MessageRequest& receive) {
  receive.status = {receive.source_rank, receive.tag, ErrorClass::proc_failed_pending, false, 0};
  receive.complete = true;
}

void PointToPoint::resume_suspended(FunctionRef<bool(const MessageRequest&)> which) {
  pool_.for_each_suspended([&](MessageRequest& request) {
    if (which(request)) request.complete = false;
  });
}

void PointToPoint::close_context(std::uint32_t context) {
  closed_contexts_.insert(context);
  std::vector<Message*> offered;
  matching_.drop_messages(context, [&](Message& message) {
    if (is_synchronous_offer(message.header))
      offered.push_back(&message);
    else
      drop(message);
  });
  for (Message* message : offered) {
    refuse_closed(message->process, message->header);
    matching_.add(*message);
  }
}

// The sender of a synchronous message waits for a receive that takes it. An offer stays until its sender
// takes it back: were it answered, the sender could not tell whether it was received.
void PointToPoint::refuse_closed(ProcessIndex source, const MessageHeader& header) {
  if (header.kind == MessageHeader::Kind::eager_synchronous || is_synchronous_offer(header))
    acknowledge_match(source, header, true);
}

// A send of which the receiver says that nobody takes it, because the communicator was revoked there.
void PointToPoint::on_vain_send(MessageRequest& send) {
  if (send.settled) return;
  if (send.stage == MessageRequest::Stage::exposed) return fail(send, ErrorClass::revoked);
  if (send.mode == SendMode::synchronous && send.fault == ErrorClass::success)
    send.fault = ErrorClass::revoked;
  settle(send);
}

}  // namespace hawser
