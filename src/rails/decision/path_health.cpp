#include "rails/decision/path_health.h"

#include <algorithm>

#include "base/assert.h"
#include "base/enum_names.h"
#include "base/planted_bug.h"

namespace hawser {
namespace {

// `base` doubled so many times, at most `cap`.
Nanoseconds doubled(Nanoseconds base, std::uint32_t doublings, Nanoseconds cap) {
  for (; doublings > 0 && base < cap; --doublings) base = base > cap / 2 ? cap : base * 2;
  return std::min(base, cap);
}

}  // namespace

const char* path_state_name(PathState state) { return enum_name(state); }

PathHealth::PathHealth(const HealthSettings& settings, Random& random)
    : settings_(settings), random_(random) {
  HAWSER_ASSERT(settings.first_retry > 0 && settings.first_retry <= settings.longest_retry);
  HAWSER_ASSERT(settings.first_hold_down >= 0 && settings.first_hold_down <= settings.longest_hold_down);
}

void PathHealth::change(PathState state, Nanoseconds now) {
  state_ = state;
  last_change_ = now;
}

// Half of it fixed, half by chance: all paths of a failed switch must not come back in step.
Nanoseconds PathHealth::back_off(std::uint32_t doublings) {
  const Nanoseconds whole = doubled(settings_.first_retry, doublings, settings_.longest_retry);
  return whole - static_cast<Nanoseconds>(random_.below(static_cast<std::uint64_t>(whole / 2 + 1)));
}

void PathHealth::on_failure(Nanoseconds now) {
  switch (state_) {
    case PathState::clear:
    case PathState::suspect: {
      ++failures_;
      const bool flapped = clear_since_ >= 0 && now - clear_since_ < settings_.flap_window;
      if (!flapped)
        hold_down_ = 0;
      else if (hold_down_ == 0)
        hold_down_ = settings_.first_hold_down;
      else
        hold_down_ = doubled(hold_down_, 1, settings_.longest_hold_down);
      if (planted(PlantedBug::long_hold_down)) hold_down_ = 600 * second;
      held_until_ = now + hold_down_;
      attempts_since_failure_ = 0;
      back_off_step_ = 0;
      port_backs_ = 0;
      break;
    }
    case PathState::failed:
    case PathState::probing:  // it connected, but data did not pass: no better than an attempt that failed
      break;
  }
  if (state_ != PathState::failed) change(PathState::failed, now);
  attempting_ = false;
  next_attempt_ = std::max(now + back_off(back_off_step_), held_until_);
}

void PathHealth::on_slow(Nanoseconds now) {
  HAWSER_ASSERT(state_ == PathState::clear || state_ == PathState::suspect);
  if (state_ == PathState::clear) change(PathState::suspect, now);
}

void PathHealth::on_well(Nanoseconds now) {
  HAWSER_ASSERT(state_ == PathState::clear || state_ == PathState::suspect);
  if (state_ == PathState::suspect) change(PathState::clear, now);
}

// A port event is good news once; a port that comes and goes without data ever passing earns less and less.
void PathHealth::on_port_back(Nanoseconds now) {
  if (state_ != PathState::failed) return;
  back_off_step_ = std::min(back_off_step_, port_backs_);
  const Nanoseconds soon = std::max(now + back_off(port_backs_), held_until_);
  ++port_backs_;
  if (!attempting_) next_attempt_ = std::min(next_attempt_, soon);
}

// A path that flaps is better than none.
void PathHealth::on_needed(Nanoseconds now) {
  if (state_ != PathState::failed || planted(PlantedBug::long_hold_down)) return;
  held_until_ = std::min(held_until_, now);
  if (!attempting_) next_attempt_ = std::min(next_attempt_, now + back_off(back_off_step_));
}

void PathHealth::on_attempt(Nanoseconds) {
  HAWSER_ASSERT(state_ == PathState::failed);
  ++attempts_;
  ++attempts_since_failure_;
  ++back_off_step_;
  attempting_ = true;
  next_attempt_ = never;
}

void PathHealth::on_connected(Nanoseconds now) {
  HAWSER_ASSERT(state_ == PathState::failed);
  change(PathState::probing, now);
  attempting_ = false;
  next_attempt_ = never;
}

void PathHealth::on_probe_passed(Nanoseconds now) {
  HAWSER_ASSERT(state_ == PathState::probing);
  change(PathState::clear, now);
  clear_since_ = now;
}

void PathHealth::check_invariants() const {
  HAWSER_ASSERT(state_ == PathState::failed ? attempting_ == (next_attempt_ == never)
                                            : next_attempt_ == never && !attempting_);
  HAWSER_ASSERT(hold_down_ >= 0 && hold_down_ <= settings_.longest_hold_down);
  HAWSER_ASSERT(state_ != PathState::failed || attempting_ || next_attempt_ >= held_until_);
}

}  // namespace hawser
