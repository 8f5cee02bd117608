// RetiredPeer: what is kept of a peer that was not spoken to for long and has no connection (its
// VirtualChannel is gone): what must not be forgotten, lest something late be taken for something new.
#pragma once

#include <cstdint>
#include <vector>

#include "rails/decision/subchannel_machine.h"

namespace hawser {

struct RetiredPeer {
  struct Path {
    SubchannelMemory memory;
    int status_row = -1;
  };
  std::uint32_t sent = 0, delivered = 0;  // packets, all acknowledged
  std::vector<Path> paths;                // by index of the subchannel; none if none was ever connected
};

}  // namespace hawser
