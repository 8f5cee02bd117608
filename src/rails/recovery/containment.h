// Containment: when a subchannel fails, everything that goes through what is to blame for it (blame.h) is
// avoided and tested at once, not found out one by one, each at the price of an adapter's retries. A
// suspected subchannel stays connected: nothing new goes over it while the peer is reached otherwise, but for
// one packet; when that is delivered it is in use again, and when it is not it fails like any other.
#pragma once

#include <vector>

#include "base/time.h"
#include "rails/decision/blame.h"
#include "rails/status/status_table.h"

namespace hawser {

struct RailCore;
struct Subchannel;

class Containment {
 public:
  explicit Containment(RailCore& core) : core_(core) {}

  // A subchannel fails; what it knows of its requests is still there.
  void on_failure(Subchannel& failed, PathReason reason);
  // Looks whether the test of a suspected one came through.
  void on_due(Subchannel& subchannel);
  // It is not in use any more, or well.
  void forget(Subchannel& subchannel);

 private:
  Witness witness(const Subchannel& subchannel, Nanoseconds silent_since) const;
  void suspect(Subchannel& subchannel);
  void test(Subchannel& subchannel);

  RailCore& core_;
};

}  // namespace hawser
