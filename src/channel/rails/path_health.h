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
  Nanoseconds first_retry = 2 * millisecond;
  Nanoseconds longest_retry = 1 * second;
  Nanoseconds first_hold_down = 20 * millisecond;  // after a second failure within flap_window
  Nanoseconds longest_hold_down = 10 * second;
  Nanoseconds flap_window = 10 * second;
};

class PathHealth {
 public:
  PathHealth(const HealthSettings& settings, Random& random);

  PathState state() const { return state_; }
  void on_failure(Nanoseconds now);       // from clear, suspect or probing; again when an attempt failed
  void on_slow(Nanoseconds now);          // clear -> suspect
  void on_well(Nanoseconds now);          // suspect -> clear
  void on_port_back(Nanoseconds now);     // the port is active again: try soon, but not within a hold-down
  void on_attempt(Nanoseconds now);       // an attempt to connect begins
  void on_connected(Nanoseconds now);     // failed -> probing
  void on_probe_passed(Nanoseconds now);  // probing -> clear
  // failed: when the next attempt is due; never otherwise.
  Nanoseconds next_attempt() const;

  std::uint32_t failures() const { return failures_; }
  std::uint32_t attempts() const { return attempts_; }
  Nanoseconds last_change() const { return last_change_; }

 private:
  const HealthSettings& settings_;
  Random& random_;
  PathState state_ = PathState::clear;
  std::uint32_t failures_ = 0;
  std::uint32_t attempts_ = 0;
  std::uint32_t attempts_since_failure_ = 0;
  Nanoseconds last_change_ = 0;
  Nanoseconds next_attempt_ = never;
  Nanoseconds hold_down_ = 0;
};

}  // namespace hawser
