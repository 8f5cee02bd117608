// Waiter: how a process passes the time when nothing moves. The machine's (machine_waiter.h) spins, yields,
// then sleeps until something may have arrived; the simulator's parks the fiber until this rank's next event.
#pragma once

#include <cstdint>

namespace hawser {

class Waiter {
 public:
  virtual ~Waiter() = default;
  // Called after a pass of progress that moved nothing. `idle_passes` counts such passes since something last
  // moved or the wait began (0 at first). Returns when another pass is worthwhile. Between two calls the
  // caller makes a whole pass AND looks at its own condition: sleeping relies on it (see machine_waiter.h).
  virtual void idle(std::uint32_t idle_passes) = 0;
  // Called after a pass that moved nothing in a call that does not wait (MPI_Test). Never sleeps and comes
  // back soon, for the program may have other things to do; but it may loop over this call, so others must
  // get their turn, and in the simulator a little time must go by.
  virtual void between_tests() { idle(0); }
};

}  // namespace hawser
