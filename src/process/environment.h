// Environment: everything an MpiProcess takes from outside (decision 1). A real process gets the
// machine's; the simulator makes one for each simulated rank.
#pragma once

#include <memory>
#include <vector>

#include "base/knobs.h"
#include "base/random.h"
#include "base/time.h"
#include "channel/channel.h"
#include "launch/bootstrap.h"

namespace hawser {

// How a process passes the time when nothing moves: in a real process it spins, yields, then sleeps until
// something may have arrived; in the simulator it parks the fiber until the next event of this rank.
class Waiter {
 public:
  virtual ~Waiter() = default;
  // Called after a pass of progress that moved nothing. `idle_passes` counts such passes since something last
  // moved. Returns when another pass is worthwhile.
  virtual void idle(std::uint32_t idle_passes) = 0;
};

// Builds the channels of a process once its events object exists, and says which serves which peer.
class ChannelSet;

struct Environment {
  Clock* clock = nullptr;
  Waiter* waiter = nullptr;
  Bootstrap* bootstrap = nullptr;
  const Knobs* knobs = nullptr;
  std::uint64_t seed = 0;
};

}  // namespace hawser
