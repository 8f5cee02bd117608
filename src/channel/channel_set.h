// ChannelSet: the channels of one process, and which of them serves which peer. The machine's set has a
// shared-memory channel and, if the job spans nodes, sockets (machine_channels.h); the simulator brings its
// own.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>

#include "channel/shared_areas.h"
#include "channel/transport.h"
#include "channel/waiter.h"

namespace hawser {

class SharedMemoryChannel;

// What a node's links reach, in bytes per second, and what they send at once; 0: not known.
struct LinkRates {
  std::int64_t together = 0;
  std::int64_t one = 0;     // a message that is not divided
  std::int64_t packet = 0;  // bytes of the longest message that is sent before its receiver asks for it
};

// How far the processes of other nodes are over several rails; 0: not known, or no farther.
struct RailDistances {
  Nanoseconds round_trip = 0;  // of the smallest packet over the nearest rail
  Nanoseconds detour = 0;      // how much longer one way is over the next rail that is farther
  bool operator==(const RailDistances&) const = default;
};

// What one process found of its peers, or several processes of theirs. Others' messages make some round trips
// long, and a rail seem farther; none seems nearer.
struct DistancesSeen {
  Nanoseconds round_trip = 0;  // the shortest
  Nanoseconds detours = 0;     // of all peers to which some rail seems farther, added
  std::int64_t farther = 0;    // these peers,
  std::int64_t peers = 0;      // of so many

  void add_peer(Nanoseconds time, Nanoseconds detour) {
    *this = joined({time, detour, detour > 0 ? 1 : 0, 1});
  }
  DistancesSeen joined(const DistancesSeen& other) const {
    const auto [shorter, longer] = std::minmax(round_trip, other.round_trip);
    return {shorter > 0 ? shorter : longer, detours + other.detours, farther + other.farther,
            peers + other.peers};
  }
  // A rail is farther if it is so to most peers.
  RailDistances distances() const { return {round_trip, 2 * farther > peers ? detours / farther : 0}; }
};

// Which channel serves which peer.
class ChannelChoice {
 public:
  // The channel to a peer; null for the own process, whose messages the message room carries itself.
  virtual Transport* channel_of(ProcessIndex peer) = 0;

 protected:
  ~ChannelChoice() = default;
};

class ChannelSet : public ChannelChoice {
 public:
  virtual ~ChannelSet() = default;

  // All channels, for progress and for flushed().
  virtual std::span<Transport* const> channels() = 0;
  // The one of channels() for shared memory; null where there is none (simulator; one process per node). For
  // the fast path of what arrives: its progress_for is a template, so that a small message is matched without
  // an indirection.
  virtual SharedMemoryChannel* shared_memory() { return nullptr; }
  // What the processes of this node share for collectives; null: nothing, or nobody to share it with.
  virtual SharedAreas* areas() { return nullptr; }
  // How large an area is on every node where several processes are; 0: one of these nodes has none. The same
  // in all processes, so that all choose the same algorithms.
  virtual std::int64_t area_bytes_everywhere() { return 0; }
  // The processes of this node; null: there are no others.
  virtual Neighbours* neighbours() { return nullptr; }
  virtual Waiter& waiter() = 0;
  // Between nodes; the same in all processes.
  virtual LinkRates link_rates() { return {}; }
  // As this process has found out until now.
  virtual DistancesSeen rail_distances() { return {}; }
};

}  // namespace hawser
