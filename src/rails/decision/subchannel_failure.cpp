// The subchannel machine's way down: stop, drain, fence, compare, reissue.
#include <algorithm>

#include "rails/decision/subchannel_machine.h"
#include "rails/wire/packet.h"

namespace hawser {

void SubchannelMachine::on_fail(Step& step, PathReason reason) {
  switch (state_) {
    case State::connecting:
      return give_up(step);
    case State::accepted:
    case State::probing:
    case State::ready:
    case State::suspected:
    case State::closing:
    case State::emptying:
      return stop(step, reason, State::stopping);
    case State::closed:
    case State::stopping:
    case State::answering:
    case State::fencing:
    case State::failed:
    case State::asking:
    case State::parting:
    case State::parked:
      return;
  }
}

void SubchannelMachine::on_post_failed(Step& step) {
  if (connected()) broken_ = step.actions.run_soon = true;
}

void SubchannelMachine::on_damaged(Step& step) {
  poisoned_ = connected() || state_ == State::stopping || state_ == State::answering;
  if (connected()) stop(step, PathReason::checksum, State::stopping);
}

void SubchannelMachine::on_marker_posted(Step& step) {
  HAWSER_ASSERT(state_ == State::stopping || state_ == State::answering);
  due_ = step.now + settings_.drain_time;
}

void SubchannelMachine::stop(Step& step, PathReason reason, State next) {
  if (!settings_.failover) {
    step.actions.add({.kind = Do::lose_peer, .reason = reason});
    return;
  }
  const State before = state_;
  const bool used = in_service();
  step.actions.add({.kind = Do::blame, .reason = reason});
  step.actions.add(
      {.kind = Do::note_failure, .reason = reason, .state = before, .recovered = failed_before_});
  broken_ = false;
  failed_before_ = true;
  stopped_ = step.now;
  count_false_alarm(reason, step.event.quick);
  health_.on_failure(step.now);
  enter(step, next, reason);
  if (before == State::suspected) step.add(Do::use_again);
  if (used) step.add(Do::leave_service);
  step.add(Do::forget);
  step.add(Do::stop);
  // Without a marker (the device is gone) there is nothing to wait for but a look at what is polled now.
  due_ = step.now;
  step.actions.run_soon = true;
}

// Was that a failure, or was the network only crowded? Where requests took a good part of an adapter's
// patience, or none was done, it may have been: the next connection gets more time. A path on which all went
// quickly failed for good.
void SubchannelMachine::count_false_alarm(PathReason reason, bool quick) {
  const bool silent = reason == PathReason::completion_error || reason == PathReason::watchdog ||
                      reason == PathReason::peer_asked || reason == PathReason::probe_failed;
  if (!silent || quick)
    false_alarms_ = 0;
  else if (false_alarms_ < SubchannelTimes::most_false_alarms)
    ++false_alarms_;
}

void SubchannelMachine::on_drained(Step& step) {
  const State before = state_;
  if (before != State::stopping && before != State::answering) return;
  poisoned_ = false;
  fenced_generation_ = connection_generation_;
  fenced_received_ = step.event.received;
  fenced_sent_ = step.event.sent;
  step.add(Do::destroy);
  enter(step, State::fencing, PathReason::none);
  step.add(Do::drop_unsequenced);
  step.actions.run_soon = true;
  if (before == State::answering) {
    answer(step, connection_generation_, fenced_received_);
    compare(step, peer_count_);
  } else {
    fences_ = 0;
    ask_fence(step);
  }
}

void SubchannelMachine::ask_fence(Step& step) {
  step.actions.add({.kind = Do::send_fence,
                    .connection_generation = connection_generation_,
                    .received = fenced_received_,
                    .turn = fences_});
  if (fences_ % SubchannelTimes::fences_per_question == SubchannelTimes::fences_per_question - 1)
    step.add(Do::ask_address);
}

void SubchannelMachine::on_fence_sent(Step& step) {
  HAWSER_ASSERT(state_ == State::fencing);
  repeat_after_pause(step);
}

void SubchannelMachine::repeat_after_pause(Step& step) {
  const Nanoseconds wait = std::min(SubchannelTimes::longest_fence_repeat,
                                    SubchannelTimes::first_fence_repeat << std::min(fences_, 10u));
  due_ = step.now + wait + static_cast<Nanoseconds>(random_.below(static_cast<std::uint64_t>(wait / 4)));
  ++fences_;
  step.actions.run_soon = true;
}

void SubchannelMachine::answer(Step& step, std::uint32_t connection_generation, std::uint32_t received) {
  step.actions.add({.kind = Do::send_answer,
                    .connection_generation = connection_generation,
                    .received = received,
                    .turn = answers_++});
}

// The peer's end of this generation is stopped and drained.
void SubchannelMachine::on_fence(Step& step) {
  const std::uint32_t connection_generation = step.event.connection_generation;
  const bool present = connection_generation == connection_generation_;
  switch (state_) {
    case State::accepted:
    case State::probing:
    case State::ready:
    case State::suspected:
    case State::closing:
    case State::emptying:
      if (!present) break;
      peer_count_ = step.event.received;
      stop(step, PathReason::peer_asked, State::answering);
      return;
    case State::stopping:
    case State::answering:
      if (!present) break;
      peer_count_ = step.event.received;
      state_ = State::answering;
      return;
    case State::fencing:
    case State::parting:
      if (!present) break;
      answer(step, connection_generation_, fenced_received_);
      compare(step, step.event.received);
      return;
    case State::closed:
    case State::connecting:
    case State::failed:
    case State::asking:
    case State::parked:
      if (later(connection_generation, fenced_generation_)) return answer_unknown_fence(step);
      break;
  }
  answer_from_memory(step);
}

void SubchannelMachine::answer_from_memory(Step& step) {
  if (step.event.connection_generation == fenced_generation_)
    answer(step, fenced_generation_, fenced_received_);
  else
    step.add(Do::stale);
}

// One that this end never connected, or gave up: nothing of it arrived, and it shall never come to be.
void SubchannelMachine::answer_unknown_fence(Step& step) {
  const std::uint32_t connection_generation = step.event.connection_generation;
  if (state_ == State::connecting && !later(connection_generation_, connection_generation)) give_up(step);
  if (later(connection_generation, connection_generation_)) skip_to(step, connection_generation);
  fenced_generation_ = connection_generation;
  fenced_received_ = 0;
  answer(step, connection_generation, 0);
}

void SubchannelMachine::on_fence_answer(Step& step) {
  const bool present = step.event.connection_generation == connection_generation_;
  switch (state_) {
    case State::fencing:
    case State::parting:
      if (present) return compare(step, step.event.received);
      break;
    case State::stopping:
    case State::answering:
      if (present) return;  // not drained yet: the peer answers again
      break;
    case State::closed:
    case State::connecting:
    case State::accepted:
    case State::probing:
    case State::ready:
    case State::suspected:
    case State::failed:
    case State::asking:
    case State::closing:
    case State::emptying:
    case State::parked:
      break;
  }
  step.add(Do::stale);
}

// Both ends are drained, and it is known what the peer has.
void SubchannelMachine::compare(Step& step, std::uint32_t received) {
  if (later(received, fenced_sent_)) {
    step.actions.add({.kind = Do::malformed, .received = received, .sent = fenced_sent_});
    return;
  }
  const bool parts = state_ == State::parting;
  const State next = parts ? State::parked : State::failed;
  step.actions.add({.kind = Do::reissue, .state = next, .received = received, .sent = fenced_sent_});
  due_ = never;
  enter(step, next, parts ? PathReason::torn_down : PathReason::none);
  step.actions.run_soon = true;
  if (!parts) return;
  torn_down_ = true;
  failed_before_ = false;  // the next connection has nothing to prove
  false_alarms_ = 0;
  step.actions.add({.kind = Do::park, .state = State::parting});
}

void SubchannelMachine::on_lost(Step& step) {
  const State before = state_;
  const bool used = in_service();
  step.add(Do::forget);
  step.actions.add({.kind = Do::cut, .state = before});
  broken_ = poisoned_ = false;
  due_ = never;
  test_.reset();
  enter(step, State::closed, PathReason::none);
  if (before == State::suspected) step.add(Do::use_again);
  if (used) step.add(Do::leave_service);
  step.add(Do::discard);
}

// The own attempt is void.
void SubchannelMachine::give_up(Step& step) {
  step.add(Do::forget);
  drop(step);
  health_.on_failure(step.now);
}

// Back to failed, with nothing in flight.
void SubchannelMachine::drop(Step& step) {
  broken_ = poisoned_ = false;
  due_ = never;
  if (health_.state() != PathState::failed) health_.on_failure(step.now);
  step.add(Do::destroy);
  enter(step, State::failed, PathReason::connect_failed);
  step.actions.run_soon = true;
}

// An attempt that ended without a result may not be the last one.
void SubchannelMachine::keep_trying(Step& step) {
  if (health_.next_attempt() == never) health_.on_failure(step.now);
}

// The peer knows of this generation, so the next attempt takes a later one.
void SubchannelMachine::skip_to(Step& step, std::uint32_t connection_generation) {
  connection_generation_ = connection_generation;
  step.add(Do::forget);
}

}  // namespace hawser
