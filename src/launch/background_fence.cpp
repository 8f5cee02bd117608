#include "launch/background_fence.h"

#include <utility>

namespace hawser {

BackgroundFence::BackgroundFence(Bootstrap& bootstrap)
    : bootstrap_(bootstrap), entered_(bootstrap.enter_fence()) {
  if (entered_) return;
  bootstrap_.set_busy(true);
  thread_ = std::thread([this] {
    result_ = bootstrap_.fence();
    done_.store(true, std::memory_order_release);
  });
}

BackgroundFence::~BackgroundFence() { end(); }

void BackgroundFence::end() {
  if (thread_.joinable()) thread_.join();
  bootstrap_.set_busy(false);
}

Result<> BackgroundFence::result() {
  end();
  return std::move(result_);
}

}  // namespace hawser
