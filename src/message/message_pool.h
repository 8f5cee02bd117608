// MessagePool: where Messages rest, so that an unexpected message costs no allocation.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "message/message.h"
#include "message/payload_memory.h"

namespace hawser {

class MessagePool {
 public:
  MessagePool() = default;
  MessagePool(const MessagePool&) = delete;
  MessagePool& operator=(const MessagePool&) = delete;
  // Some messages may still wait.
  ~MessagePool() {
    for (const auto& slab : slabs_)
      for (Message& message : *slab) free_payload(message);
  }

  // A message with room for `payload_bytes`, which are `size` or none. Throws OutOfMemory.
  Message& take(const MessageHeader& header, ProcessIndex process, std::int64_t size,
                std::int64_t payload_bytes) {
    if (free_.empty()) [[unlikely]]
      add_slab(payload_bytes);
    Message* const message = free_.back();
    if (payload_bytes > Message::inline_bytes) message->pool_payload = payloads_.take(payload_bytes);
    free_.pop_back();
    message->header = header;
    message->process = process;
    message->size = size;
    message->charged = 0;
    message->arriving = nullptr;
    message->dropped = false;
    message->self_send = nullptr;
    return *message;
  }
  void give_back(Message& message) {
    free_payload(message);
    free_.push_back(&message);
  }

 private:
  void free_payload(Message& message) {
    if (message.pool_payload != nullptr)
      payloads_.give_back(std::exchange(message.pool_payload, nullptr), message.size);
  }

  // For a message of so many bytes.
  [[gnu::noinline]] void add_slab(std::int64_t bytes) {
    try {
      const std::size_t all = (slabs_.size() + 1) * std::tuple_size_v<Slab>;
      if (free_.capacity() < all) free_.reserve(2 * all);  // give_back() must not fail
      slabs_.push_back(std::make_unique<Slab>());
    } catch (const std::bad_alloc&) {
      throw PayloadMemory::out_of_memory(bytes);
    }
    for (Message& message : *slabs_.back()) free_.push_back(&message);
  }

  using Slab = std::array<Message, 16>;
  PayloadMemory payloads_;
  std::vector<std::unique_ptr<Slab>> slabs_;
  std::vector<Message*> free_;
};

}  // namespace hawser
