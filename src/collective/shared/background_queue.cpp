#include "collective/shared/background_queue.h"

#include <utility>

namespace hawser {

bool BackgroundQueue::advance(BackgroundTurn& turn) {
  if (queue_.front() != &turn) return false;
  if (run_ == nullptr) {
    run_ = runs_.take();
    shared_->team().take_steps_by(run_.get());
    run_->begin([&turn] { turn.operation->run_in_shared_memory(); });
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

void BackgroundQueue::remove(BackgroundTurn& turn) {
  if (queue_.front() == &turn && run_ != nullptr) {
    run_->cancel();
    end_first();
  } else {
    queue_.remove(&turn);
    turn.queue = nullptr;
  }
}

void BackgroundQueue::pass(BackgroundTurn& turn) {
  queue_.remove(&turn);
  turn.queue = nullptr;
  if (leaves_) leave();
}

void BackgroundQueue::end_first() {
  shared_->team().take_steps_by(nullptr);
  runs_.give_back(std::move(run_));
  queue_.pop_front()->queue = nullptr;
}

}  // namespace hawser
