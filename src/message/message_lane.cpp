#include "message/message_lane.h"

#include "base/rest.h"

namespace hawser {

void LaneLock::wait() {
  wanting_.fetch_add(1, std::memory_order_relaxed);
  for (std::uint32_t looks = 0; !try_lock(); ++looks) rest(looks);
  wanting_.fetch_sub(1, std::memory_order_relaxed);
}

void MessageLane::connect(const Place& place, Progress& progress) {
  choice_.self = place.self;
  if (place.segment != nullptr) {
    channel_ = std::make_unique<SharedMemoryChannel>(place.segment->lane(number()), place.place,
                                                     place.neighbours, place.processes.size(), place.knobs);
    choice_.channel = channel_.get();
  }
  messages_.set_progress(progress);
  messages_.share_buffers(place.own);
  messages_.connect(lane_, place.self, place.processes, choice_, place.bounds);
}

void MessageLane::disconnect() {
  messages_.settle();
  messages_.disconnect();
  channel_.reset();
}

bool MessageLane::progress() {
  try {
    const bool moved = channel_ != nullptr && channel_->progress_for(direct_);
    return messages_.progress() || moved;
  } catch (const std::bad_alloc& error) {
    messages_.out_of_memory(error);
    return false;
  }
}

}  // namespace hawser
