#include "fabric/adapter/objects.h"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace hawser::fabric {

bool CompletionRing::resize(std::uint32_t capacity) {
  if (capacity < size_ || capacity == 0) return false;
  std::vector<Completion> larger(capacity);
  const auto count = static_cast<std::uint32_t>(size_);
  poll(count, larger.data());
  ring_ = std::move(larger);
  head_ = 0;
  size_ = count;
  return true;
}

Outcome ReceiveQueue::post(const ReceiveRequest& request) {
  if (size_ == capacity_) return {ENOMEM, "the receive queue is full"};
  if (request.segment_count > most_segments_) return {EINVAL, "too many scatter elements"};
  if (size_ == ring_.size()) grow();
  ReceiveEntry& entry = ring_[(head_ + size_) % ring_.size()];
  entry.id = request.id;
  entry.segments.assign(request.segments, request.segments + request.segment_count);
  ++size_;
  ++posted_;
  return {};
}

// Most queues never hold as many as they may.
void ReceiveQueue::grow() {
  constexpr std::size_t first_size = 8;
  std::vector<ReceiveEntry> larger(std::min(std::max(first_size, 2 * ring_.size()), capacity_));
  for (std::size_t i = 0; i < size_; ++i) std::swap(larger[i], ring_[(head_ + i) % ring_.size()]);
  ring_ = std::move(larger);
  head_ = 0;
}

bool ReceiveQueue::take(ReceiveEntry& out) {
  if (size_ == 0) return false;
  std::swap(out, ring_[head_]);
  head_ = (head_ + 1) % ring_.size();
  --size_;
  return true;
}

}  // namespace hawser::fabric
