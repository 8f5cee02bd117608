// Rail: a local port with what is needed to use it: completion queue, shared receive queue, datagrams. The
// completion queue serves sends and receives, so that the order in which they are polled says what had
// arrived before a failed connection was drained.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>

#include "access/rdma.h"
#include "channel/port_use.h"
#include "rails/decision/congestion_window.h"
#include "rails/decision/packet_engines.h"
#include "rails/decision/packet_times.h"
#include "rails/decision/path_spread.h"
#include "rails/memory/packet_pool.h"
#include "rails/wire/packet.h"
#include "rails/wire/rail_table.h"

namespace hawser {

struct Subchannel;

// Of queue pairs, if adapters have so much.
inline constexpr std::int32_t most_inline_bytes = 128;

// Receives that a connection with one of a peer's subchannels wants on its rail: two windows over all of
// them, and finishes on top.
inline constexpr std::int32_t receives_for_finishes = 16;
std::int32_t receives_wanted(std::int32_t subchannels);

// Work ids of receives have this bit.
inline constexpr std::uint64_t receive_work_id = std::uint64_t{1} << 63;

struct RailShape {
  std::uint16_t number = 0;
  std::uint16_t device_number = 0;
  std::uint8_t port = 1;
  std::int32_t most_receives = 1024;
  std::uint32_t datagram_key = 0;
  std::uint32_t datagram_receives = rdma::least_datagram_receives;
  std::uint32_t packet_bytes = 8192;
  const FlowSettings* flow = &usual_flow;  // outlives the rail
};

// Which stripes: reads load the other way of a link than writes.
enum class Load : std::uint8_t { both, written, read };

// Bytes of stripes that are posted and not completed.
struct QueuedBytes {
  std::int64_t all = 0, read = 0;
  std::int64_t of(Load load) const {
    return load == Load::both ? all : load == Load::read ? read : all - read;
  }
};

// What is posted on a rail and not completed, of all connections.
struct RailTraffic {
  explicit RailTraffic(const FlowSettings& flow) : flows{CongestionWindow(flow), CongestionWindow(flow)} {}

  bool room_for(std::int32_t requests) const { return outstanding + requests <= budget; }

  // Of the stripes that go this way through the port, to and from all peers.
  CongestionWindow& flow_of(PortSide side) { return flows[static_cast<std::size_t>(side)]; }
  QueuedBytes queued() const { return {bytes_queued, bytes_read}; }
  // A stripe of so many bytes was posted; negative: it is not under way any more.
  void add_stripe(std::int64_t bytes, PortSide side) {
    const std::int64_t before = side == PortSide::in ? bytes_read : bytes_queued - bytes_read;
    bytes_queued += bytes;
    if (side == PortSide::in) bytes_read += bytes;
    if (before == 0)
      use.begin(side);
    else if (before + bytes == 0)
      use.end(side);
  }
  void set_rate(std::int64_t bytes_per_second) {
    ns_per_byte =
        bytes_per_second > 0 ? static_cast<double>(second) / static_cast<double>(bytes_per_second) : 0;
  }
  // A packet was posted. That it is done is found late, so its time is reckoned.
  void on_packet(std::uint32_t bytes, Nanoseconds now) {
    packets_until = std::max(packets_until, now) + static_cast<Nanoseconds>(bytes * ns_per_byte);
  }

  // What a packet that is posted now has before it, of which so many bytes are packets of its own subchannel.
  std::int64_t bytes_ahead(std::int64_t own_packets, Nanoseconds now) const {
    const bool busy = packets_until > now && ns_per_byte > 0;
    const auto packets =
        busy ? static_cast<std::int64_t>(static_cast<double>(packets_until - now) / ns_per_byte) : 0;
    return bytes_queued + std::max(own_packets, packets);
  }

  // Whether the clock is to be read in each pass.
  bool timing() const { return bytes_queued > 0 || timed != none_timed; }

  static constexpr std::uint64_t none_timed = UINT64_MAX;
  std::uint64_t timed = none_timed;  // work id of the packet whose time is taken
  struct {
    std::int64_t arrived = 0, packet_bytes = 0;  // then
    bool alone = false;                          // nothing left this port then that could have delayed it
    Nanoseconds behind_one = -1;                 // as in TimedPacket
  } when_timed;
  SpreadHints spread;
  PacketHints packet_engines = packet_hints();  // of peers whose first rail this is
  PortLatency latency;                          // of small packets to all peers
  std::int64_t bytes_queued = 0;                // of stripes
  std::int64_t bytes_read = 0;                  // of these, such as are read
  std::int64_t packet_bytes = 0;                // of packets
  // Bytes of packets, ever.
  struct {
    std::uint32_t posted = 0;
    std::int64_t arrived = 0;
  } packets;
  Nanoseconds packets_until = 0;          // the port is busy with packets, if it is with nothing else
  double ns_per_byte = 0;                 // of the port
  std::int32_t outstanding = 0;           // requests
  std::int32_t budget = 0;                // that the completion queue has room for
  std::array<CongestionWindow, 2> flows;  // by PortSide: out of it is measured only
  PortUse use;                            // with others of the node
};

// Whether a packet that is posted now takes as long as on an idle rail.
inline bool nearly_idle(const RailTraffic& rail, Nanoseconds now) {
  constexpr std::int64_t few_bytes = 256;
  return rail.bytes_ahead(0, now) <= few_bytes;
}

// When the completion queue of a rail was polled, and whether it was seen empty.
class PollTimes {
 public:
  // A pass of polling took so many completions of a queue of `depth`; none is left if `end`.
  void note(std::int32_t count, bool end, Nanoseconds now) {
    if (taken_since_end_ == 0) polled_before_ = polled_;
    polled_ = now;
    taken_ = count;
    if (count > 0) found_ = now;
    taken_since_end_ = end ? 0 : std::min(taken_since_end_ + count, depth_);
  }
  // Last, and when what the last pass found was not there yet: the end of the queue was seen then; -1: never.
  Nanoseconds polled() const { return polled_; }
  Nanoseconds polled_before() const { return polled_before_; }
  // When completions were found last; -1: never.
  Nanoseconds found() const { return found_; }
  // Completions that the last pass took.
  std::int32_t taken() const { return taken_; }
  // Whether a completion that came while the process was away may not be polled yet: since the end of the
  // queue was seen last, less was taken than it has room for.
  bool may_have_backlog() const { return taken_since_end_ > 0 && taken_since_end_ < depth_; }
  void set_depth(std::int32_t depth) { depth_ = depth; }

 private:
  Nanoseconds polled_ = -1, polled_before_ = -1, found_ = -1;
  std::int32_t depth_ = 0;  // of the completion queue
  std::int32_t taken_ = 0, taken_since_end_ = 0;
};

// The subchannels of a rail by the number of their queue pair.
class QueuePairIndex {
 public:
  bool empty() const { return by_number_.empty(); }
  void add(std::uint32_t number, Subchannel& subchannel) { by_number_[number] = &subchannel; }
  void remove(std::uint32_t number) {
    if (last_number_ == number) last_ = nullptr;
    by_number_.erase(number);
  }
  Subchannel* find(std::uint32_t number) {
    if (last_ != nullptr && last_number_ == number) [[likely]]
      return last_;
    const auto found = by_number_.find(number);
    if (found == by_number_.end()) return nullptr;
    last_number_ = number;
    return last_ = found->second;
  }

 private:
  std::unordered_map<std::uint32_t, Subchannel*> by_number_;  // looked up only
  Subchannel* last_ = nullptr;
  std::uint32_t last_number_ = 0;
};

class Rail {
 public:
  static Result<std::unique_ptr<Rail>> open(rdma::Device& device, const RailShape& shape, PacketPool& pool);
  ~Rail();

  std::uint16_t number() const { return shape_.number; }
  std::uint16_t device_number() const { return shape_.device_number; }
  std::uint8_t port() const { return shape_.port; }
  rdma::Device& device() const { return device_; }
  rdma::CompletionQueue& completions() { return *completions_; }
  rdma::SharedReceiveQueue& receives() { return *receives_; }
  rdma::DatagramQueuePair& datagrams() { return *datagrams_; }
  const rdma::PortAttributes& attributes() const { return attributes_; }
  // How others reach it as of now.
  RailAddress address() const;
  bool up() const { return attributes_.active && !dead; }
  // Asks the device again, after port events.
  void query();
  // The same before connecting, for addresses may have moved; but one that is down is not asked all the time.
  void look(Nanoseconds now);

  // One connection more, on which so many packets may arrive at once.
  void add_receives(std::int32_t receives);
  // One less. What is posted beyond what is wanted then is used up, and not posted again.
  void remove_receives(std::int32_t receives);
  // A receive came back.
  void count_receive() { --receive_count_.posted; }
  // Posts receives up to what is wanted.
  void fill() {
    if (receive_count_.posted + fill_stride <= receive_count_.wanted ||
        (receive_count_.posted < receive_count_.wanted && receive_count_.wanted < 2 * fill_stride))
      fill_now();
  }
  std::int32_t posted_receives() const { return receive_count_.posted; }

  // The device had a fatal error and no connection has a queue pair here any more: destroys what was made.
  void close();
  // The device was opened again.
  Result<> open_again();

  bool dead = false;  // from the device's fatal error until it was opened again
  QueuePairIndex queue_pairs;
  PollTimes polling;
  RailTraffic traffic;

 private:
  static constexpr std::int32_t fill_stride = 16;
  Rail(rdma::Device& device, const RailShape& shape, PacketPool& pool);
  Result<> make_queues();
  void fill_now();

  rdma::Device& device_;
  RailShape shape_;
  PacketPool& pool_;
  rdma::PortAttributes attributes_;
  Nanoseconds looked_ = -1;
  std::uint8_t address_generation_ = 0;                 // changes of its address since
  std::uint8_t device_generation_ = 1;                  // counts how often it was opened
  std::unique_ptr<rdma::CompletionQueue> completions_;  // of a closed rail: one that is always empty
  std::unique_ptr<rdma::SharedReceiveQueue> receives_;
  std::unique_ptr<rdma::DatagramQueuePair> datagrams_;
  PacketPool::Receives receive_count_;
  std::int32_t receives_for_all_ = 0;  // what all connections want, also beyond what there is room for
};

}  // namespace hawser
