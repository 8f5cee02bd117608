// BackgroundFence: the launcher's fence, while the caller goes on with what the others need of it before they
// can come. A thread of its own waits there, if the launcher cannot be asked.
#pragma once

#include <atomic>
#include <thread>

#include "launch/bootstrap.h"

namespace hawser {

class BackgroundFence {
 public:
  // `bootstrap` must not be used while it is busy.
  explicit BackgroundFence(Bootstrap& bootstrap);
  BackgroundFence(const BackgroundFence&) = delete;
  BackgroundFence& operator=(const BackgroundFence&) = delete;
  ~BackgroundFence();  // waits until it is done

  bool done() const { return entered_ ? bootstrap_.fence_is_over() : done_.load(std::memory_order_acquire); }
  // Waits until it is done. Once.
  Result<> result();

 private:
  void end();

  Bootstrap& bootstrap_;
  const bool entered_;
  std::atomic<bool> done_{false};
  Result<> result_;
  std::thread thread_;  // last: it uses the others
};

}  // namespace hawser
