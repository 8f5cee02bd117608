#include "collective/shared/background_queue.h"

#include <algorithm>
#include <utility>

#include "os/shared_memory.h"

namespace hawser {

void BackgroundQueue::add(BackgroundTurn& turn) {
  turn.queue = this;
  queue_.push_back(&turn);
  ++size_;
  if (size_ > 1) {
    looks_once_ = 8;
    until_single_look_ = next_single_look_ = most_often;
  }
  if (written_ > 0 && written_ + 1 == size_) write_ahead(&turn);
}

bool BackgroundQueue::advance(BackgroundTurn& turn) {
  if (queue_.front() != &turn) return false;
  if (run_ == nullptr && written_ == 0 && !begins(turn)) return false;
  if (run_ != nullptr) {
    if (!run_->advance()) return false;
  } else {
    if (written_ > 0 && !shared_->have_all_written() && !shared_->team().is_told_to_stop()) return false;
    turn.operation->run_in_shared_memory();
  }
  end_first();
  if (leaves_) leave();
  return true;
}

// How often to look for others that come at the same time, when an operation begins: a neighbour that runs is
// there within so many looks, between which the processor pauses (as in SharedTeam::wait_for). But a program
// that begins several before it waits for them is only held up by that. Whether it does so shows now and then
// when an operation is not waited for, which costs that one a good part of its time: so the less often, the
// longer it has not been seen.
int BackgroundQueue::looks() {
  if (shared_->team().crowded()) return 1;
  if (looks_once_ > 0) {
    --looks_once_;
    return 1;
  }
  if (--until_single_look_ > 0) [[likely]]
    return 25;
  next_single_look_ = std::min(2 * next_single_look_, most_seldom);
  until_single_look_ = next_single_look_;
  return 1;
}

bool BackgroundQueue::ends_alone(const CollectiveCall& call) {
  if (!has_root(call.kind) && shared_->writes_at_once(call, looks())) {
    written_ = shared_->has_ended() ? 0 : 1;
    return written_ == 0;
  }
  const SharedCollectives::Awaited awaited = shared_->awaited_first(call);
  bool ends = false;
  if (awaited == SharedCollectives::Awaited::nobody) {
    ends = shared_->ends_at_once(call);
    asked_ = !ends;
  } else {
    shared_->fetch_expected(call);
    const auto has_come = [&] { return shared_->has_come(awaited, call); };
    const bool come = has_come() || look_with_pauses(looks(), has_come);
    ends = come && shared_->ends_as_come(awaited, call);
    asked_ = come && !ends;
  }
  if (ends) shared_->run(call, Way::area);
  return ends;
}

void BackgroundQueue::forget_written() {
  written_ = 0;
  shared_->forget_written();
}

// Begins it if others need not come before. It runs on a stack of its own if it may have to wait later.
bool BackgroundQueue::begins(BackgroundTurn& turn) {
  const CollectiveCall* const call = turn.operation->whole_call();
  if (call != nullptr && shared_->way_of(*call) == Way::area && !shared_->team().is_told_to_stop()) {
    const SharedCollectives::Awaited awaited = shared_->awaited_first(*call);
    const bool waits = awaited != SharedCollectives::Awaited::nobody;
    if (waits) {
      shared_->fetch_expected(*call);
      if (!shared_->has_come(awaited, *call)) return false;
    }
    const bool asked = std::exchange(asked_, false);
    if (!asked && (waits ? shared_->ends_as_come(awaited, *call) : shared_->ends_at_once(*call))) return true;
    if (!asked && shared_->writes_at_once(*call, 0)) {
      written_ = 1;
      write_ahead(queue_.next(&turn));
      return true;
    }
  }
  run_ = runs_.take();
  shared_->team().take_steps_by(run_.get());
  run_->begin([&turn] { turn.operation->run_in_shared_memory(); });
  return true;
}

// By all operations from this one on, as far as they can; all before it have written.
void BackgroundQueue::write_ahead(BackgroundTurn* turn) {
  for (; turn != nullptr; turn = queue_.next(turn), ++written_) {
    const CollectiveCall* const call = turn->operation->whole_call();
    if (call == nullptr || shared_->way_of(*call) != Way::area) return;
    if (!shared_->writes_ahead(*call, static_cast<std::uint32_t>(written_))) return;
  }
}

void BackgroundQueue::leave() {
  leaves_ = true;
  if (empty()) shared_->team().leave();
}

void BackgroundQueue::remove(BackgroundTurn& turn) {
  if (queue_.front() == &turn && (run_ != nullptr || written_ > 0)) {
    if (run_ != nullptr) run_->cancel();
    end_first();
  } else {
    take_out(turn);
  }
}

void BackgroundQueue::pass(BackgroundTurn& turn) {
  take_out(turn);
  if (leaves_) leave();
}

void BackgroundQueue::take_out(BackgroundTurn& turn) {
  queue_.remove(&turn);
  turn.queue = nullptr;
  --size_;
}

void BackgroundQueue::end_first() {
  if (run_ != nullptr) {
    shared_->team().take_steps_by(nullptr);
    runs_.give_back(std::move(run_));
  } else if (written_ > 1) {
    --written_;
    shared_->go_on_to_written();
  } else {
    forget_written();
  }
  take_out(*queue_.front());
}

}  // namespace hawser
