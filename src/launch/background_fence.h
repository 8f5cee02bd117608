// BackgroundFence: the launcher's fence, entered by a thread of its own while the caller goes on with what
// the others need of it before they can come.
#pragma once

#include <atomic>
#include <thread>

#include "launch/bootstrap.h"

namespace hawser {

class BackgroundFence {
 public:
  // `bootstrap` must not be used until the fence is done.
  explicit BackgroundFence(Bootstrap& bootstrap);
  BackgroundFence(const BackgroundFence&) = delete;
  BackgroundFence& operator=(const BackgroundFence&) = delete;
  ~BackgroundFence();  // waits until it is done

  bool done() const { return done_.load(std::memory_order_acquire); }
  // Waits until it is done. Once.
  Result<> result();

 private:
  std::atomic<bool> done_{false};
  Result<> result_;
  std::thread thread_;  // last: it uses the others
};

}  // namespace hawser
