#include "launch/background_fence.h"

#include <utility>

namespace hawser {

BackgroundFence::BackgroundFence(Bootstrap& bootstrap)
    : thread_([this, &bootstrap] {
        result_ = bootstrap.fence();
        done_.store(true, std::memory_order_release);
      }) {}

BackgroundFence::~BackgroundFence() {
  if (thread_.joinable()) thread_.join();
}

Result<> BackgroundFence::result() {
  thread_.join();
  return std::move(result_);
}

}  // namespace hawser
