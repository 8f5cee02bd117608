// The subchannel machine's other way down: closed on purpose (subchannel_machine.h). Each end is flushed
// before its queue pair goes, so that nothing is in flight any more when both are gone.
#include <algorithm>

#include "base/planted_bug.h"
#include "rails/decision/subchannel_machine.h"
#include "rails/wire/packet.h"

namespace hawser {

void SubchannelMachine::dispatch_closing(Step& step) {
  if (step.event.kind == Event::close) return on_close(step);
  if (step.event.kind == Event::peer_closes) return on_peer_closes(step);
  on_peer_parted(step);
}

void SubchannelMachine::on_close(Step& step) {
  if (!settings_.failover) return;
  if (in_service()) {
    begin_closing(step);
    return go_on_closing(step);
  }
  const State before = state_;
  if (before == State::connecting) {
    step.add(Do::forget);
    step.add(Do::destroy);
  } else if (forgotten(step.now) && step.event.own_received == 0) {
    // Who asked for it has given it up, most likely; else it learns by its first packet.
    part(step, State::parked);
  } else if (before != State::failed && before != State::asking) {
    return;
  }
  // Nobody needs it now, so it is not tried (again) until somebody does; it has to prove itself then.
  const bool well = health_.state() == PathState::clear || health_.state() == PathState::suspect;
  if (!well && health_.next_attempt() == never) health_.on_failure(step.now);
  due_ = never;
  enter(step, State::parked, PathReason::torn_down);
  step.actions.add({.kind = Do::park, .state = before});
}

void SubchannelMachine::begin_closing(Step& step) {
  const bool suspected = state_ == State::suspected;
  due_ = step.now;
  test_pause_ = SubchannelTimes::first_flush_look;
  fences_ = 0;
  enter(step, State::closing, PathReason::torn_down);
  if (suspected) step.add(Do::use_again);
  step.actions.add({.kind = Do::leave_service, .reason = PathReason::torn_down});
  step.actions.run_soon = true;
}

// The peer's end is flushed. It never posts anything more on this connection, so neither may this one.
void SubchannelMachine::on_peer_closes(Step& step) {
  const bool present = step.event.connection_generation == connection_generation_;
  switch (state_) {
    case State::ready:
    case State::suspected:
      if (!present || !settings_.failover) break;
      begin_closing(step);
      [[fallthrough]];
    case State::closing:
      if (!present) break;
      peer_count_ = step.event.sent;
      stopped_ = step.now;
      due_ = step.now;
      state_ = State::emptying;
      return go_on_closing(step);
    case State::emptying:
    case State::parting:  // it is told again in time
      if (present) return;
      break;
    case State::accepted:
    case State::probing:
    case State::stopping:
    case State::answering:
    case State::fencing:
      break;
    case State::closed:
    case State::connecting:
    case State::failed:
    case State::asking:
    case State::parked:  // it was given up here when nothing had come
      if (step.event.connection_generation != fenced_generation_) break;
      fences_ = 0;
      return tell_parted_again(step);
  }
  step.add(Do::stale);
}

bool SubchannelMachine::emptied(const Step& step) const {
  return planted(PlantedBug::send_while_closing) ||
         (step.event.flushed && step.event.own_received == peer_count_);
}

void SubchannelMachine::go_on_closing(Step& step) {
  if (state_ == State::emptying) {
    if (emptied(step)) {
      part(step, State::parting);
      return tell_parted(step);
    }
    // Its adapter lost what it acknowledged.
    if (step.event.flushed && step.now - stopped_ >= SubchannelTimes::emptying_patience)
      return stop(step, PathReason::watchdog, State::stopping);
    return look_at_flush(step);
  }
  if (!step.event.flushed) return look_at_flush(step);
  if (step.now < due_) return;
  step.actions.add({.kind = Do::send_close,
                    .connection_generation = connection_generation_,
                    .sent = step.event.own_sent,
                    .turn = fences_});
  repeat_after_pause(step);
}

void SubchannelMachine::look_at_flush(Step& step) {
  if (step.now < due_) return;
  due_ = step.now + test_pause_;
  test_pause_ = std::min(2 * test_pause_, SubchannelTimes::longest_flush_look);
  step.actions.run_soon = true;
}

void SubchannelMachine::part(Step& step, State next) {
  broken_ = poisoned_ = false;
  fences_ = 0;
  fenced_generation_ = connection_generation_;
  fenced_received_ = step.event.own_received;
  fenced_sent_ = step.event.own_sent;
  step.add(Do::forget);
  step.add(Do::destroy);
  step.add(Do::drop_unsequenced);
  state_ = next;
  step.actions.run_soon = true;
}

void SubchannelMachine::tell_parted_again(Step& step) {
  step.actions.add({.kind = Do::send_parted,
                    .connection_generation = fenced_generation_,
                    .received = fenced_received_,
                    .sent = fenced_sent_,
                    .turn = fences_});
}

void SubchannelMachine::tell_parted(Step& step) {
  tell_parted_again(step);
  if (fences_ % SubchannelTimes::fences_per_question == SubchannelTimes::fences_per_question - 1)
    step.add(Do::ask_address);
  repeat_after_pause(step);
}

void SubchannelMachine::on_peer_parted(Step& step) {
  const bool present = step.event.connection_generation == connection_generation_;
  switch (state_) {
    case State::closing:
    case State::emptying:
      if (!present) break;
      if (state_ == State::closing) {
        stopped_ = step.now;
        due_ = step.now;
      }
      peer_count_ = step.event.sent;
      state_ = State::emptying;
      // What its adapter says is here may not have been polled yet: it tells again.
      if (!emptied(step)) return go_on_closing(step);
      part(step, State::parting);
      answer(step, connection_generation_, fenced_received_);
      return compare(step, step.event.received);
    case State::parting:
      if (planted(PlantedBug::mutual_victims)) return;
      return on_fence(step);
    case State::accepted:
    case State::probing:
    case State::ready:
    case State::suspected:
      if (!present) break;
      return step.add(Do::stale);
    case State::stopping:
    case State::answering:
    case State::fencing:
    case State::closed:
    case State::connecting:
    case State::failed:
    case State::asking:
    case State::parked:
      return on_fence(step);
  }
  answer_from_memory(step);
}

}  // namespace hawser
