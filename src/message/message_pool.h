// MessagePool: where Messages rest, so that an unexpected small message costs no allocation. Counts the bytes
// of payload that wait on the heap.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "base/out_of_memory.h"
#include "message/message.h"

namespace hawser {

class MessagePool {
 public:
  // A message with room for `payload_bytes`.
  Message& take(const MessageHeader& header, ProcessIndex process, std::int64_t size,
                std::int64_t payload_bytes) {
    Message* message = nullptr;
    if (free_.empty()) {
      message = &messages_.emplace_back();
    } else {
      message = free_.back();
      free_.pop_back();
    }
    message->header = header;
    message->process = process;
    message->size = size;
    message->charged = 0;
    message->arriving = nullptr;
    message->dropped = false;
    message->self_send = nullptr;
    message->receiver = nullptr;
    if (payload_bytes > Message::inline_bytes) {
      message->heap_payload = allocate_bytes(payload_bytes, "a message that no receive has asked for");
      heap_bytes_ += payload_bytes;
    }
    return *message;
  }
  void give_back(Message& message) {
    if (message.heap_payload != nullptr) {
      heap_bytes_ -= message.size;
      message.heap_payload.reset();
    }
    message.communicator = nullptr;
    free_.push_back(&message);
  }
  std::int64_t heap_bytes() const { return heap_bytes_; }

 private:
  std::deque<Message> messages_;  // never move
  std::vector<Message*> free_;
  std::int64_t heap_bytes_ = 0;
};

}  // namespace hawser
