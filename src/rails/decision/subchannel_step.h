// What the two sources of the subchannel machine share.
#pragma once

#include "rails/decision/subchannel_machine.h"
#include "rails/wire/packet.h"

namespace hawser {

// One event on its way through the machine.
struct SubchannelMachine::Step {
  const SubchannelEvent& event;
  const Nanoseconds now;
  SubchannelActions actions;

  void add(SubchannelAction::Kind kind) { actions.add({.kind = kind}); }
};

// Whether generation (or count of packets) `a` is later than `b`.
inline bool later(std::uint32_t a, std::uint32_t b) { return sequence_distance(a, b) > 0; }

}  // namespace hawser
