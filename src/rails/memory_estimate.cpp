#include "rails/memory_estimate.h"

#include <algorithm>
#include <bit>

#include "rails/datapath/virtual_channel.h"
#include "rails/decision/connection_manager.h"

namespace hawser {
namespace {

// Of a send request in an adapter's memory: control and address, then the segments, or inline data.
constexpr std::int64_t block = 64;
constexpr std::int64_t segment_bytes = 16;

std::int64_t packet_bytes(const Knobs& knobs) { return static_cast<std::int64_t>(longest_packet(knobs)); }

std::int64_t request_bytes() {
  const std::int64_t data = std::max<std::int64_t>(segment_bytes * rdma::longest_list, most_inline_bytes);
  return block + (data + block - 1) / block * block;
}

}  // namespace

std::int64_t most_receive_bytes(const Knobs& knobs) { return knobs.rail_receives * packet_bytes(knobs); }

PeerMemory peer_memory(const Knobs& knobs, int rails) {
  PeerMemory memory;
  const Ways ways = ways_of(knobs);
  const std::int64_t paths = ways.paths_on_demand ? 1 : ways.paths;
  const std::int64_t engines = ways.engines_on_demand ? 1 : ways.engines;
  const std::int64_t n = std::min<std::int64_t>(rails * paths * engines, max_stripes);
  memory.subchannels = n;
  const auto bytes = [](std::size_t size) { return static_cast<std::int64_t>(size); };
  // The queue that they lie in has room for one more.
  memory.known = bytes(sizeof(VirtualChannel)) + (n + 1) * bytes(sizeof(Subchannel)) +
                 n * bytes(sizeof(SubchannelView) + PathWeights::bytes_per_path) +
                 rails * bytes(sizeof(RailAddress)) + n * bytes(ConnectionManager::bytes_per_subchannel());
  const auto depth = std::bit_ceil(static_cast<std::uint64_t>(knobs.rail_send_depth));
  memory.queue_pairs = n * static_cast<std::int64_t>(depth) * request_bytes();
  memory.migration = n * bytes(sizeof(AlternatePath));
  memory.receives = n * receives_wanted(static_cast<std::int32_t>(n)) * packet_bytes(knobs);
  memory.window = packet_window * packet_bytes(knobs);
  return memory;
}

}  // namespace hawser
