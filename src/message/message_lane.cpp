#include "message/message_lane.h"

#include "base/time.h"
#include "os/shared_memory.h"

namespace hawser {

void LaneLock::wait() {
  constexpr int looks = 9;
  constexpr Nanoseconds longest_sleep = 1 * millisecond;
  wanting_.fetch_add(1, std::memory_order_relaxed);
  bool taken = false;
  // Each after twice the time.
  for (int look = 0; look < looks && !taken; ++look) {
    for (int pauses = 0; pauses < 1 << look; ++pauses) pause_cpu();
    taken = try_lock();
  }
  // Taken as wanted, too: others may sleep.
  while (!taken && state_.exchange(locked_and_wanted, std::memory_order_acquire) != unlocked)
    futex_wait(state_, locked_and_wanted, longest_sleep);
  wanting_.fetch_sub(1, std::memory_order_relaxed);
}

void LaneLock::wake() { futex_wake_all(state_); }

void MessageLane::connect(const Place& place, Progress& progress) {
  choice_.self = place.self;
  messages_.set_progress(progress);
  messages_.share_buffers(place.own);
  messages_.connect(lane_, place.self, place.processes, choice_, place.bounds);
}

void MessageLane::open(const Place& place) {
  channel_ = std::make_unique<SharedMemoryChannel>(place.segment->lane(number()), place.place,
                                                   place.neighbours, place.processes.size(), place.knobs);
  choice_.channel = channel_.get();
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
