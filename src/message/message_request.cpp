#include "message/message_request.h"

#include "message/point_to_point.h"

namespace hawser {

Result<> MessageRequest::start() { return owner_.start(*this); }

Result<> MessageRequest::cancel() {
  owner_.cancel(*this);
  return {};
}

void MessageRequest::destroy() { owner_.release(*this); }

RequestPool::~RequestPool() = default;

void RequestPool::grow() {
  constexpr int chunk = 64;
  for (int i = 0; i < chunk; ++i) {
    MessageRequest& request = requests_.emplace_back(owner_);
    request.valid = false;
    table_.number_of(request);
  }
  // The first of the chunk is taken first, so that neighbours in time are neighbours in memory.
  for (int i = 1; i <= chunk; ++i) {
    MessageRequest& request = requests_[requests_.size() - static_cast<std::size_t>(i)];
    request.next_free = free_;
    free_ = &request;
  }
}

}  // namespace hawser
