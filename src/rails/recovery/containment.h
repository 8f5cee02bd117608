// Containment: when a subchannel fails, everything that goes through what is to blame for it (blame.h) is
// avoided and tested at once, not found out one by one, each at the price of an adapter's retries. A
// suspected subchannel stays connected: nothing new goes over it while the peer is reached otherwise, but for
// one packet; when that is delivered it is in use again, and when it is not it fails like any other.
#pragma once

#include <vector>

#include "base/time.h"
#include "rails/datapath/path_report.h"
#include "rails/datapath/peer_table.h"
#include "rails/datapath/watch_list.h"
#include "rails/decision/blame.h"
#include "rails/recovery/alternate_paths.h"
#include "rails/status/status_table.h"

namespace hawser {

class Containment {
 public:
  Containment(RailContext& context, RailResources& resources, const PeerTable& peers, WatchList& watches,
              PathReport& report, const AlternatePaths& alternates)
      : context_(context),
        resources_(resources),
        peers_(peers),
        watches_(watches),
        report_(report),
        alternates_(alternates) {}

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

  RailContext& context_;
  RailResources& resources_;
  const PeerTable& peers_;
  WatchList& watches_;
  PathReport& report_;
  const AlternatePaths& alternates_;
};

}  // namespace hawser
