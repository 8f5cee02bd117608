// ChannelSet: the channels of one process, and which of them serves which peer. The machine's set has a
// shared-memory channel and, if the job spans nodes, sockets (machine_channels.h); the simulator brings its
// own.
#pragma once

#include <memory>
#include <span>

#include "channel/transport.h"
#include "channel/waiter.h"

namespace hawser {

class RailChannel;
class RailStatus;
class SharedMemoryChannel;

class ChannelSet {
 public:
  virtual ~ChannelSet() = default;

  // The channel to a peer; null for the own process, whose messages the message room carries itself.
  virtual Transport* channel_of(ProcessIndex peer) = 0;
  // All channels, for progress and for flushed().
  virtual std::span<Transport* const> channels() = 0;
  // The concrete shared-memory channel, for the fast path of small messages and for collectives straight in
  // shared memory; also one of channels(). Null where there is none (simulator; one process per node).
  virtual SharedMemoryChannel* shared_memory() { return nullptr; }
  virtual Waiter& waiter() = 0;
  // The rails, and the record of what happens to their paths; null: none are used here.
  virtual RailChannel* rails() { return nullptr; }
  virtual const RailStatus* rail_status() { return nullptr; }
};

}  // namespace hawser
