// PathOpener: connects subchannels that are made on demand, one at a time with each peer, when the peer's
// messages want them (path_spread.h) and there is room for more queue pairs at both ends (connection_cap.h).
// Whatever does not come about is left for a while, and messages go on as they do.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/time.h"
#include "rails/datapath/rail_context.h"
#include "rails/datapath/timer_list.h"
#include "rails/datapath/virtual_channel.h"
#include "rails/recovery/recovery_links.h"
#include "rails/wire/packet.h"

namespace hawser {

class ConnectionCap;

class PathOpener {
 public:
  struct Neighbours {
    ControlMessages& control;
    const ConnectionCap& cap;
    MachineEvents& machines;
  };
  PathOpener(RailContext& context, TimerList& timers, const Neighbours& neighbours)
      : context_(context), timers_(timers), neighbours_(neighbours) {}

  // Messages to the peer would go over connections that are not open.
  void want(VirtualChannel& peer);
  // The peer asks for a connection. False: it is told that there is no room for it.
  bool admits(Subchannel& subchannel, std::uint32_t connection_generation);
  // The peer has none.
  void on_refused(VirtualChannel& peer, std::span<const std::byte> body);

  bool opens_for(const VirtualChannel& peer) const {
    return std::ranges::find(openings_, &peer, &Opening::peer) != openings_.end();
  }
  void progress();
  Nanoseconds deadline() const { return due_; }

 private:
  struct Opening {
    VirtualChannel* peer;
    Subchannel* subchannel = nullptr;  // that is being connected
  };
  bool over(Opening& opening);
  bool refuse(VirtualChannel& peer);

  RailContext& context_;
  TimerList& timers_;
  Neighbours neighbours_;
  std::vector<Opening> openings_;
  Nanoseconds due_ = never;
  Nanoseconds rests_until_ = 0;
};

}  // namespace hawser
