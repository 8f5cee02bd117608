#include "message/message_request.h"

#include <memory>

#include "message/point_to_point.h"

namespace hawser {

Result<> MessageRequest::start() { return owner_.start(*this); }

Result<> MessageRequest::cancel() {
  owner_.cancel(*this);
  return {};
}

void MessageRequest::destroy() { owner_.release(*this); }

void MessageRequest::Transfer::on_complete(Result<> result) {
  request_.owner_.on_transferred(request_, std::move(result));
}

RequestPool::~RequestPool() {
  for (MessageRequest* chunk : chunks_) {
    std::destroy_n(chunk, chunk_size);
    std::allocator<MessageRequest>().deallocate(chunk, chunk_size);
  }
}

void RequestPool::grow() {
  try {
    make_chunk();
  } catch (const std::bad_alloc& error) {
    owner_.out_of_memory(error);
  }
}

void RequestPool::make_chunk() {
  chunks_.reserve(chunks_.size() + 1);
  MessageRequest* chunk = std::allocator<MessageRequest>().allocate(chunk_size);
  chunks_.push_back(chunk);
  for (std::size_t i = 0; i < chunk_size; ++i) {
    MessageRequest& request = *std::construct_at(chunk + i, owner_);
    request.valid = false;
    request.lane = table_.lane();
    // The first of the chunk is taken first, so that neighbours in time are neighbours in memory.
    request.next_free = i + 1 < chunk_size ? chunk + i + 1 : nullptr;
  }
  table_.enter_array(chunk, chunk_size);
  free_ = chunk;
}

}  // namespace hawser
