#include "collective/shared/background_queue.h"

#include <utility>

namespace hawser {

bool BackgroundQueue::advance(Operation& operation) {
  if (queue_.front() != &operation) return false;
  if (run_ == nullptr) {
    run_ = runs_.take();
    shared_->team().take_steps_by(run_.get());
    run_->begin([&operation] { operation.run_in_shared_memory(); });
  }
  if (!run_->advance()) return false;
  end_first();
  if (leaves_) leave();
  return true;
}

void BackgroundQueue::leave() {
  leaves_ = true;
  if (empty()) shared_->team().leave();
}

void BackgroundQueue::remove(Operation& operation) {
  if (queue_.front() == &operation && run_ != nullptr) {
    run_->cancel();
    end_first();
  } else {
    queue_.remove(&operation);
  }
}

void BackgroundQueue::end_first() {
  shared_->team().take_steps_by(nullptr);
  runs_.give_back(std::move(run_));
  queue_.pop_front();
}

}  // namespace hawser
