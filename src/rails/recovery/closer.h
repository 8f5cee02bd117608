// Closer: executes what the subchannel's machine decides when a connection is closed on purpose (CT-3, CT-5;
// doc/rails.md), and takes the datagrams of it.
#pragma once

#include <cstdint>
#include <span>

#include "rails/datapath/rail_context.h"
#include "rails/datapath/rail_resources.h"
#include "rails/datapath/subchannel.h"
#include "rails/datapath/virtual_channel.h"
#include "rails/recovery/recovery_links.h"
#include "rails/wire/packet.h"

namespace hawser {

class Closer {
 public:
  Closer(RailContext& context, ParkedListener& listener, ControlMessages& control, MachineEvents& machines)
      : context_(context), listener_(listener), control_(control), machines_(machines) {}

  // Closes all connections with the peer that are in use. What failed is not tried again until it is needed.
  void close(VirtualChannel& peer);
  void on_message(VirtualChannel& peer, std::span<const std::byte> body);
  // What the machine has to know of a subchannel that closes.
  static void note_flow(const Subchannel& subchannel, SubchannelEvent& event);

  // Actions of the machine, for the driver.
  void send(Subchannel& subchannel, const SubchannelAction& action);
  void park(Subchannel& subchannel, SubchannelState before);

 private:
  RailContext& context_;
  ParkedListener& listener_;
  ControlMessages& control_;
  MachineEvents& machines_;
};

}  // namespace hawser
