#include "rails/decision/subchannel_machine.h"

#include <algorithm>

#include "base/enum_names.h"
#include "base/planted_bug.h"
#include "rails/wire/packet.h"

namespace hawser {

const char* subchannel_state_name(SubchannelState state) { return enum_name(state); }

SubchannelActions SubchannelMachine::on(const SubchannelEvent& event, Nanoseconds now) {
  Step step{event, now, {}};
  dispatch(step);
  return step.actions;
}

void SubchannelMachine::dispatch(Step& step) {
  switch (step.event.kind) {
    case Event::want:
      return on_want(step);
    case Event::look:
      return on_look(step);
    case Event::fail:
      return on_fail(step, step.event.reason);
    case Event::post_failed:
      return on_post_failed(step);
    case Event::damaged:
      return on_damaged(step);
    case Event::drained:
      return on_drained(step);
    case Event::suspect:
      return on_suspect(step);
    case Event::rate:
      return on_rate(step);
    case Event::needed:
      return health_.on_needed(step.now);
    case Event::port_returned:
      return on_port_returned(step);
    case Event::path_returned:
      return on_path_returned(step);
    case Event::lost:
      return on_lost(step);
    case Event::close:
    case Event::peer_closes:
    case Event::peer_parted:
      return dispatch_closing(step);
    case Event::request:
      return on_request(step);
    case Event::first_packet:
      return on_first_packet(step);
    case Event::probe:
      return on_probe(step);
    case Event::probe_answer:
      return on_probe_answer(step);
    case Event::fence:
      return on_fence(step);
    case Event::fence_answer:
      return on_fence_answer(step);
    case Event::reconnect_request:
      return on_reconnect_request(step);
    case Event::connect_begun:
      return on_connect_begun(step);
    case Event::connect_refused:
      return on_connect_refused(step);
    case Event::joined:
      return on_joined(step);
    case Event::join_failed:
      return on_join_failed(step);
    case Event::abandoned:
      return on_abandoned(step);
    case Event::accepted:
      return on_accepted(step);
    case Event::accept_failed:
      return on_accept_failed(step);
    case Event::probes_posted:
      return on_probes_posted(step);
    case Event::marker_posted:
      return on_marker_posted(step);
    case Event::fence_sent:
      return on_fence_sent(step);
    case Event::test_pending:
      return on_test_pending(step);
    case Event::test_delivered:
      return on_test_delivered(step);
  }
}

// ---- up ----

void SubchannelMachine::enter(Step& step, State state, PathReason reason) {
  state_ = state;
  step.actions.add({.kind = Do::show, .reason = reason, .state = state});
}

void SubchannelMachine::attempt(Step& step) {
  if (health_.state() == PathState::failed) health_.on_attempt(step.now);
  step.add(Do::connect);
}

void SubchannelMachine::on_want(Step& step) {
  if (rests()) attempt(step);
}

void SubchannelMachine::on_connect_begun(Step& step) {
  HAWSER_ASSERT(rests() || state_ == State::failed);
  connection_generation_ = std::max(connection_generation_ + 1, step.event.connection_generation);
  enter(step, State::connecting, PathReason::none);
  step.add(Do::request);
  step.actions.run_soon = true;
}

void SubchannelMachine::on_connect_refused(Step& step) {
  HAWSER_ASSERT(rests() || state_ == State::failed);
  health_.on_failure(step.now);
  step.actions.add({.kind = Do::show_refused, .reason = step.event.reason});
  enter(step, State::failed, step.event.reason);
  step.actions.run_soon = true;
}

void SubchannelMachine::begin_connection(Step& step, State state, Nanoseconds patience) {
  broken_ = poisoned_ = false;
  probes_sent_ = probes_received_ = probes_wanted_ = 0;
  due_ = step.now + patience;
  if (health_.state() == PathState::failed) health_.on_connected(step.now);
  state_ = state;
  step.actions.run_soon = true;
}

void SubchannelMachine::on_joined(Step& step) {
  HAWSER_ASSERT(state_ == State::connecting);
  begin_connection(step, State::probing, SubchannelTimes::probe_patience);
  probes_wanted_ = step.event.probes;
  if (!failed_before_ || probes_wanted_ == 0 || planted(PlantedBug::early_readmission)) {
    enter_service(step);
    return;
  }
  enter(step, State::probing, PathReason::none);
  step.add(Do::send_probes);
}

// The peer's request comes with no probes of this end's: who asks is who proves the path.
void SubchannelMachine::on_accepted(Step& step) {
  HAWSER_ASSERT(may_accept() && later(step.event.connection_generation, connection_generation_));
  connection_generation_ = step.event.connection_generation;
  begin_connection(step, State::accepted, SubchannelTimes::accepted_patience);
  enter(step, State::accepted, PathReason::none);
}

void SubchannelMachine::on_request(Step& step) {
  const bool newer = later(step.event.connection_generation, connection_generation_);
  switch (state_) {
    case State::accepted:
      // The peer gave that one up before it was connected: nothing came, and nothing was sent.
      if (!newer || step.event.received != 0) return;
      drop(step);
      break;
    case State::closed:
    case State::failed:
    case State::asking:
    case State::parked:
      if (!newer) return;
      break;
    case State::connecting:
    case State::probing:
    case State::ready:
    case State::suspected:
    case State::stopping:
    case State::answering:
    case State::fencing:
    case State::closing:
    case State::emptying:
    case State::parting:
      return;
  }
  step.actions.add({.kind = Do::accept, .connection_generation = step.event.connection_generation});
}

void SubchannelMachine::on_join_failed(Step& step) {
  HAWSER_ASSERT(state_ == State::connecting);
  give_up(step);
}

void SubchannelMachine::on_accept_failed(Step& step) {
  HAWSER_ASSERT(may_accept() && later(step.event.connection_generation, connection_generation_));
  connection_generation_ = step.event.connection_generation;
  drop(step);
  keep_trying(step);
}

void SubchannelMachine::on_abandoned(Step& step) {
  if (state_ != State::connecting || step.event.connection_generation != connection_generation_) return;
  drop(step);
  if (step.event.gave_up) {
    health_.on_failure(step.now);
    step.add(Do::ask_address);
  } else {
    --connection_generation_;  // nobody used it: the peer's request, accepted next, may have the same
    keep_trying(step);
  }
}

void SubchannelMachine::on_first_packet(Step& step) {
  const bool probe = step.event.probe;
  switch (state_) {
    case State::accepted:
      if (!probe) return enter_service(step);
      due_ = step.now + SubchannelTimes::probe_patience;
      enter(step, State::probing, PathReason::none);
      step.actions.run_soon = true;
      return;
    case State::probing:
      if (probe) return;
      if (probes_received_ >= probes_wanted_) return enter_service(step);
      step.add(Do::unproven);
      return;
    case State::closed:
    case State::connecting:
    case State::ready:
    case State::suspected:
    case State::stopping:
    case State::answering:
    case State::fencing:
    case State::failed:
    case State::asking:
    case State::closing:
    case State::emptying:
    case State::parting:
    case State::parked:
      return;
  }
}

void SubchannelMachine::on_probe(Step& step) {
  if (state_ != State::probing) return step.add(Do::stale);
  step.add(Do::answer_probe);
}

void SubchannelMachine::on_probe_answer(Step& step) {
  if (state_ != State::probing || probes_received_ == probes_sent_) return step.add(Do::stale);
  ++probes_received_;
  if (probes_received_ == probes_wanted_)
    enter_service(step);
  else
    step.add(Do::send_probes);
}

void SubchannelMachine::on_probes_posted(Step& step) {
  HAWSER_ASSERT(state_ == State::probing && step.event.probes <= probes_to_send());
  probes_sent_ += step.event.probes;
}

void SubchannelMachine::enter_service(Step& step) {
  // Who drives a recovery lets nothing on the path before data has passed.
  HAWSER_ASSERT(!failed_before_ || !drives_ || probes_received_ >= probes_wanted_);
  due_ = never;
  if (health_.state() == PathState::probing) health_.on_probe_passed(step.now);
  state_ = State::ready;
  step.actions.add({.kind = Do::enter_service,
                    .reason = failed_before_ ? PathReason::recovery
                              : torn_down_   ? PathReason::reopened
                                             : PathReason::first_connection,
                    .state = state_,
                    .recovered = failed_before_});
}

void SubchannelMachine::on_reconnect_request(Step& step) {
  const std::uint32_t connection_generation = step.event.connection_generation;
  const bool behind = later(connection_generation, connection_generation_);
  switch (state_) {
    case State::closed:
    case State::parked:
      if (behind) skip_to(step, connection_generation);
      attempt(step);
      return;
    case State::connecting:
      if (!behind) return;
      give_up(step);
      break;
    case State::accepted:  // the peer had asked, and gave that up
      if (step.event.received != 0 || later(connection_generation_, connection_generation)) return;
      step.add(Do::forget);
      drop(step);
      break;
    case State::failed:
    case State::asking:
      break;
    case State::probing:
    case State::ready:
    case State::suspected:
    case State::stopping:
    case State::answering:
    case State::fencing:
    case State::closing:
    case State::emptying:
    case State::parting:
      return;
  }
  if (behind) skip_to(step, connection_generation);
  health_.on_port_back(step.now);
  step.actions.run_soon = true;
}

// ---- suspicion and measured rates ----

void SubchannelMachine::on_suspect(Step& step) {
  if (state_ != State::ready) return;
  test_.reset();
  test_pause_ = SubchannelTimes::first_test_repeat;
  due_ = step.now;
  step.add(Do::avoid);
  enter(step, State::suspected, PathReason::blamed);
  step.add(Do::test);
}

void SubchannelMachine::on_test_pending(Step& step) {
  HAWSER_ASSERT(state_ == State::suspected);
  if (step.event.test.has_value()) test_ = step.event.test;
  due_ = step.now + test_pause_;
  test_pause_ = std::min(2 * test_pause_, SubchannelTimes::longest_test_repeat);
  step.actions.run_soon = true;
}

void SubchannelMachine::on_test_delivered(Step& step) {
  HAWSER_ASSERT(state_ == State::suspected);
  due_ = never;
  step.add(Do::use_again);
  enter(step, State::ready, PathReason::well_again);
}

void SubchannelMachine::on_rate(Step& step) {
  if (!in_service() || step.event.slow == (health_.state() == PathState::suspect)) return;
  if (step.event.slow)
    health_.on_slow(step.now);
  else
    health_.on_well(step.now);
  enter(step, state_, step.event.slow ? PathReason::slow : PathReason::well_again);
}

// ---- time ----

Nanoseconds SubchannelMachine::due() const {
  return state_ == State::failed ? std::min(due_, health_.next_attempt()) : due_;
}

void SubchannelMachine::on_look(Step& step) {
  if (broken_ && connected()) return stop(step, PathReason::completion_error, State::stopping);
  const bool due = step.now >= due_;
  switch (state_) {
    case State::accepted:
      if (!due) return;
      step.add(Do::forget);
      return drop(step);
    case State::probing:
      if (due) return stop(step, PathReason::probe_failed, State::stopping);
      return step.add(Do::send_probes);
    case State::suspected:
      if (due) step.add(Do::test);
      return;
    case State::stopping:
    case State::answering:
      if (due) step.add(Do::poll);
      return;
    case State::fencing:
      if (due) ask_fence(step);
      return;
    case State::failed:
      if (step.now < health_.next_attempt()) return;
      if (drives_) return attempt(step);
      health_.on_attempt(step.now);
      due_ = step.now + SubchannelTimes::reconnect_request_time;
      state_ = State::asking;
      step.actions.add({.kind = Do::reconnect_request, .turn = health_.attempts_since_failure()});
      return;
    case State::asking:
      if (!due) return;
      due_ = never;
      state_ = State::failed;
      health_.on_failure(step.now);
      step.add(Do::ask_address);
      return;
    case State::closing:
    case State::emptying:
      return go_on_closing(step);
    case State::parting:
      if (due) tell_parted(step);
      return;
    case State::closed:
    case State::connecting:
    case State::ready:
    case State::parked:
      return;
  }
}

// A fence that waits for its answer need not wait for its next repeat.
void SubchannelMachine::on_port_returned(Step& step) {
  if (state_ != State::fencing && state_ != State::parting) return;
  fences_ = 0;
  due_ = step.now;
  step.actions.run_soon = true;
}

void SubchannelMachine::on_path_returned(Step& step) {
  if (state_ != State::failed && state_ != State::asking) return;
  health_.on_port_back(step.now);
  step.actions.run_soon = true;
}

void SubchannelMachine::remember(const SubchannelMemory& memory) {
  HAWSER_ASSERT(state_ == State::closed && connection_generation_ == 0);
  connection_generation_ = memory.connection_generation;
  fenced_generation_ = memory.fenced_generation;
  fenced_received_ = memory.fenced_received;
  fenced_sent_ = memory.fenced_sent;
  torn_down_ = memory.torn_down;
  if (torn_down_) state_ = State::parked;
}

// ---- invariants ----

void SubchannelMachine::check_invariants() const {
  const PathState health = health_.state();
  HAWSER_ASSERT(!broken_ || connected());
  HAWSER_ASSERT(probes_sent_ <= probes_wanted_ && probes_received_ <= probes_sent_);
  switch (state_) {
    case State::closed:
      HAWSER_ASSERT(due_ == never);
      return;
    case State::connecting:
      HAWSER_ASSERT(due_ == never);
      return;
    case State::accepted:
    case State::probing:
      HAWSER_ASSERT(due_ != never && health != PathState::failed);
      return;
    case State::ready:
    case State::suspected:
      HAWSER_ASSERT((due_ != never) == (state_ == State::suspected));
      HAWSER_ASSERT(health == PathState::clear || health == PathState::suspect);
      return;
    case State::stopping:
    case State::answering:
      HAWSER_ASSERT(due_ != never && failed_before_ && health == PathState::failed);
      return;
    case State::fencing:
      HAWSER_ASSERT(due_ != never && fenced_generation_ == connection_generation_ &&
                    health == PathState::failed);
      return;
    case State::failed:
      HAWSER_ASSERT(due_ == never && health == PathState::failed && health_.next_attempt() != never);
      return;
    case State::asking:
      HAWSER_ASSERT(due_ != never && !drives_ && health == PathState::failed);
      return;
    case State::closing:
    case State::emptying:
      HAWSER_ASSERT(due_ != never && (health == PathState::clear || health == PathState::suspect));
      return;
    case State::parting:
      HAWSER_ASSERT(due_ != never && fenced_generation_ == connection_generation_);
      HAWSER_ASSERT(health == PathState::clear || health == PathState::suspect);
      return;
    case State::parked:
      HAWSER_ASSERT(due_ == never && health != PathState::probing);
      return;
  }
}

}  // namespace hawser
