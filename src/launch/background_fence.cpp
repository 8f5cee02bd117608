#include "launch/background_fence.h"

#include <utility>

namespace hawser {

BackgroundFence::BackgroundFence(Bootstrap& bootstrap)
    : bootstrap_(bootstrap), entered_(bootstrap.enter_fence()) {
  if (entered_) return;
  thread_ = std::thread([this] {
    result_ = bootstrap_.fence();
    done_.store(true, std::memory_order_release);
  });
}

BackgroundFence::~BackgroundFence() {
  if (thread_.joinable()) thread_.join();
}

Result<> BackgroundFence::result() {
  if (thread_.joinable()) thread_.join();
  return std::move(result_);
}

}  // namespace hawser
