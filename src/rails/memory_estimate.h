// What a peer that is reached over rails costs in memory, from the structures themselves and the settings:
// `hawser info` and doc/tuning.md.
#pragma once

#include <cstdint>

#include "base/knobs.h"

namespace hawser {

// All in bytes.
struct PeerMemory {
  std::int64_t subchannels = 0;  // how many; not bytes
  std::int64_t known = 0;        // what is remembered of a peer, connected or not
  std::int64_t queue_pairs = 0;  // send queues, as adapters lay them out (64-byte blocks)
  std::int64_t migration = 0;    // if its connections have alternates
  std::int64_t receives = 0;     // its share of receive buffers while there is room for all peers' shares
  std::int64_t window = 0;       // buffers of packets on their way to it, at most
  std::int64_t connected() const { return known + queue_pairs; }
};

PeerMemory peer_memory(const Knobs& knobs, int rails);
// Bound for the receive buffers of all peers together, per rail.
std::int64_t most_receive_bytes(const Knobs& knobs);

}  // namespace hawser
