// Quarantine: when a subchannel fails, everything that goes through what is to blame for it
// (fault_location.h) is avoided and tested at once, not found out one by one, each at the price of an
// adapter's retries. A suspected subchannel stays connected: nothing new goes over it while the peer is
// reached otherwise, but for one packet; when that is delivered it is in use again, and when it is not it
// fails like any other.
#pragma once

#include <optional>

#include "base/time.h"
#include "rails/datapath/peer_table.h"
#include "rails/decision/fault_location.h"
#include "rails/recovery/alternate_paths.h"
#include "rails/recovery/recovery_links.h"
#include "rails/status/status_table.h"

namespace hawser {

class Quarantine {
 public:
  Quarantine(RailContext& context, RailResources& resources, const PeerTable& peers,
             AlternatePaths& alternates, MachineEvents& machines)
      : context_(context),
        resources_(resources),
        peers_(peers),
        alternates_(alternates),
        machines_(machines) {}

  // Actions of the machine, for the driver.
  // The subchannel has just failed, or left its route, and what it knows of its requests is still there:
  // suspects others, or has their adapters leave, too.
  void blame(Subchannel& failed, PathReason reason);
  void avoid(Subchannel& subchannel);
  void use_again(Subchannel& subchannel);
  // Sends the packet that has to be delivered, or looks whether it was.
  std::optional<SubchannelEvent> test(Subchannel& subchannel);

 private:
  // `connected`: whether it is, or was until now.
  Observation observation(const Subchannel& subchannel, bool connected, Nanoseconds silent_since) const;

  RailContext& context_;
  RailResources& resources_;
  const PeerTable& peers_;
  AlternatePaths& alternates_;
  MachineEvents& machines_;
};

}  // namespace hawser
