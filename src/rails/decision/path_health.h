// PathHealth: whether a subchannel may be used, and when to try one that failed again. A pure machine:
// event + now -> state. Attempts back off with jitter; a path that flaps is held down longer each time.
#pragma once

#include <cstdint>

#include "base/random.h"
#include "base/time.h"

namespace hawser {

enum class PathState : std::uint8_t {
  clear,    // in use
  suspect,  // in use while others are worse: slow, or the watchdog looks at it
  failed,   // not in use; next_attempt() says when to try
  probing,  // connected again; data must pass before it is clear
};
const char* path_state_name(PathState state);

struct HealthSettings {
  Nanoseconds first_retry = 2 * millisecond;  // doubled with every attempt that fails
  Nanoseconds longest_retry = 1 * second;
  // No attempt is made for so long after a failure that came within flap_window of becoming clear; doubled
  // with each further one. A path that stays clear for flap_window starts anew.
  Nanoseconds first_hold_down = 20 * millisecond;
  Nanoseconds longest_hold_down = 10 * second;
  Nanoseconds flap_window = 10 * second;
};

// `now` never goes backwards. The settings and the generator outlive this.
class PathHealth {
 public:
  PathHealth(const HealthSettings& settings, Random& random);

  PathState state() const { return state_; }
  void on_failure(Nanoseconds now);       // from clear, suspect or probing; again when an attempt failed
  void on_slow(Nanoseconds now);          // clear -> suspect
  void on_well(Nanoseconds now);          // suspect -> clear
  void on_port_back(Nanoseconds now);     // the port is active again: try soon, but not within a hold-down
  void on_needed(Nanoseconds now);        // no other path works: a hold-down ends, attempts begin soon
  void on_attempt(Nanoseconds now);       // an attempt to connect begins; on_connected or on_failure follows
  void on_connected(Nanoseconds now);     // failed -> probing; also without an own attempt (the peer's)
  void on_probe_passed(Nanoseconds now);  // probing -> clear
  // failed: when the next attempt is due; never otherwise and while an attempt is under way.
  Nanoseconds next_attempt() const { return next_attempt_; }
  // The path flapped and rests: attempts of the peer should be refused too.
  bool held_down(Nanoseconds now) const { return state_ == PathState::failed && now < held_until_; }

  std::uint32_t failures() const { return failures_; }  // of the path in use; failed attempts do not count
  std::uint32_t attempts() const { return attempts_; }
  std::uint32_t attempts_since_failure() const { return attempts_since_failure_; }
  Nanoseconds hold_down() const { return hold_down_; }  // of the last failure; 0: none
  Nanoseconds last_change() const { return last_change_; }
  void check_invariants() const;

 private:
  void change(PathState state, Nanoseconds now);
  Nanoseconds back_off(std::uint32_t doublings);

  const HealthSettings& settings_;
  Random& random_;
  PathState state_ = PathState::clear;
  bool attempting_ = false;
  std::uint32_t failures_ = 0;
  std::uint32_t attempts_ = 0;
  std::uint32_t attempts_since_failure_ = 0;
  std::uint32_t back_off_step_ = 0;  // doublings of the next delay
  std::uint32_t port_backs_ = 0;     // since it was last clear
  Nanoseconds last_change_ = 0;
  Nanoseconds next_attempt_ = never;
  Nanoseconds hold_down_ = 0;
  Nanoseconds held_until_ = 0;
  Nanoseconds clear_since_ = -1;  // of the last recovery; -1: never failed
};

}  // namespace hawser
