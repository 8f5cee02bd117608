// Environment: everything an MpiProcess takes from outside (decision 1). A real process gets the
// machine's; the simulator makes one for each simulated rank.
#pragma once

#include <memory>
#include <vector>

#include "base/knobs.h"
#include "base/random.h"
#include "base/time.h"
#include "channel/channel_set.h"
#include "channel/waiter.h"
#include "launch/bootstrap.h"

namespace hawser {

struct Environment {
  Clock* clock = nullptr;
  ChannelSet* channels = nullptr;  // with the waiter that knows how to sleep on them
  Bootstrap* bootstrap = nullptr;
  const Knobs* knobs = nullptr;
  std::uint64_t seed = 0;
};

}  // namespace hawser
