// Buffered sends of PointToPoint (MPI-5.0 section 3.6): a message that its channel does not take at once is
// copied into the attached buffer and goes on from there on its own.
#include "base/assert.h"
#include "message/point_to_point.h"
#include "message/transfer.h"

namespace hawser {

// The nearest attached one: the communicator's, its session's, the process's (MPI-5.0 section 3.6).
SendBuffer& PointToPoint::buffer_for(std::uint32_t context, SendBuffer* session_buffer) {
  auto& of_contexts = buffers_->context_buffers_;
  if (!of_contexts.empty()) {
    const auto found = of_contexts.find(context);
    if (found != of_contexts.end() && found->second.attached()) return found->second;
  }
  if (session_buffer != nullptr && session_buffer->attached()) return *session_buffer;
  return buffers_->process_buffer_;
}

Result<> PointToPoint::send_buffered(const SendTarget& target, const ByteSequence& bytes,
                                     Counted* communicator, SendBuffer* session_buffer) {
  SendBuffer& buffer = buffer_for(target.context, session_buffer);
  // Also asked for when the message needs no buffer, so that a program's mistake shows every time.
  if (!buffer.has_room(bytes.size)) {
    send_queued();  // frees what can go
    settle();
    if (!buffer.has_room(bytes.size)) return buffer.no_room(bytes.size);
  }
  if (send_now(target, bytes)) return {};
  std::byte* place = buffer.reserve(bytes.size);
  copy_from(place, bytes);
  MessageRequest& request = take_send(SendMode::standard, target, {place, bytes.size, nullptr});
  request.valid = false;
  request.after = MessageRequest::After::release_buffer;
  request.communicator = Ref<Counted>(communicator);
  request.buffer = &buffer;
  request.sequence = ++buffer.last_sequence;
  buffer.messages.push_back(&request);
  start_send(request);
  return {};
}

MessageRequest& PointToPoint::iflush(SendBuffer& buffer) {
  if (buffer.messages.empty()) return sent_;
  MessageRequest& request = take_request(MessageRequest::Direction::flush);
  request.sequence = buffer.last_sequence;
  request.buffer = &buffer;
  buffer.flushes.push_back(&request);
  return request;
}

void PointToPoint::leave_buffer(MessageRequest& send) {
  SendBuffer& buffer = *send.buffer;
  buffer.messages.remove(&send);
  buffer.release(send.bytes.data);
  const MessageRequest* oldest = buffer.messages.front();
  while (MessageRequest* flush = buffer.flushes.front()) {
    if (oldest != nullptr && oldest->sequence <= flush->sequence) break;
    buffer.flushes.remove(flush);
    flush->status = Status::empty();
    complete(*flush);
  }
}

}  // namespace hawser
