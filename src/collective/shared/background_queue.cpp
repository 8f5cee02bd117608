#include "collective/shared/background_queue.h"

#include <utility>

namespace hawser {

bool BackgroundQueue::advance(BackgroundTurn& turn) {
  if (queue_.front() != &turn) return false;
  if (run_ == nullptr && !written_) begin(turn);
  if (written_) {
    if (!shared_->have_all_written() && !shared_->team().is_told_to_stop()) return false;
    turn.operation->run_in_shared_memory();
  } else if (!run_->advance()) {
    return false;
  }
  end_first();
  if (leaves_) leave();
  return true;
}

BackgroundQueue::Begun BackgroundQueue::begin_alone(const CollectiveCall& call) {
  if (!shared_->writes_at_once(call)) return Begun::no;
  written_ = true;
  // A neighbour that runs and comes at the same time has written within this many looks.
  const int looks = shared_->team().crowded() ? 1 : 100;
  for (int i = 0; i < looks; ++i)
    if (shared_->have_all_written()) return Begun::all_have_written;
  return Begun::written;
}

void BackgroundQueue::forget_written() {
  written_ = false;
  shared_->forget_written();
}

void BackgroundQueue::begin(BackgroundTurn& turn) {
  const CollectiveCall* const call = turn.operation->whole_call();
  written_ = call != nullptr && shared_->way_of(*call) == Way::area && shared_->writes_at_once(*call);
  if (written_) return;
  run_ = runs_.take();
  shared_->team().take_steps_by(run_.get());
  run_->begin([&turn] { turn.operation->run_in_shared_memory(); });
}

void BackgroundQueue::leave() {
  leaves_ = true;
  if (empty()) shared_->team().leave();
}

void BackgroundQueue::remove(BackgroundTurn& turn) {
  if (queue_.front() == &turn && (run_ != nullptr || written_)) {
    if (run_ != nullptr) run_->cancel();
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
  if (written_) {
    forget_written();
  } else {
    shared_->team().take_steps_by(nullptr);
    runs_.give_back(std::move(run_));
  }
  queue_.pop_front()->queue = nullptr;
}

}  // namespace hawser
