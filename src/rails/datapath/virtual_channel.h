// VirtualChannel: what a process knows of a peer: sequence numbers, the window, packets held until an earlier
// one is here, packets waiting to be issued again, and the subchannels. This is the path of small messages
// and of everything that the protocol says; large ones are in rendezvous.h.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "rails/datapath/rail_context.h"
#include "rails/datapath/rail_resources.h"
#include "rails/datapath/subchannel.h"
#include "rails/datapath/upward.h"
#include "rails/decision/path_weights.h"
#include "rails/policy/scheduling_policy.h"
#include "rails/wire/packet.h"
#include "rails/wire/rail_table.h"

namespace hawser {

struct DuePeers;

class VirtualChannel {
 public:
  // `remote`: the peer's rails.
  VirtualChannel(RailContext& context, RailResources& resources, Upward& upward, DuePeers& due,
                 ProcessIndex process, RailTable remote, std::unique_ptr<SchedulingPolicy> policy);
  ~VirtualChannel();

  ProcessIndex process() const { return process_; }
  std::deque<Subchannel>& subchannels() { return subchannels_; }
  Subchannel* subchannel(std::uint16_t index) {
    return index < subchannels_.size() ? &subchannels_[index] : nullptr;
  }
  const RailTable& remote() const { return remote_; }
  // Where the peer's datagrams go; addresses may move.
  const RailAddress& remote_rail(std::uint16_t rail) const { return remote_.rails[rail]; }
  void learn(std::uint16_t rail, const RailAddress& address) {
    if (!remote_.rails[rail].later_than(address)) remote_.rails[rail] = address;
  }
  // The subchannel whose other end a datagram through this rail goes to: the named one, if it is on the rail;
  // else, of several rails there that this one goes with, any, for some may be on other networks.
  const Subchannel* datagram_way(std::uint16_t rail, std::uint16_t index);
  PathWeights& weights() { return weights_; }
  // Whether all rails to it can read remote memory.
  bool reads() const { return reads_; }

  // A packet of these parts, with a sequence number if sequenced. False when there is no room now: nothing
  // was done. `head` is the packet behind its PacketHeader, `payload` follows; payload.size bytes.
  bool send(PacketKind kind, TrafficClass traffic, std::span<const std::byte> head,
            const ByteSequence& payload);
  bool room() const { return window_open() && ready_ > 0 && waiting_.empty(); }
  // An unsequenced packet on this subchannel. False: no room; the caller repeats or lets it be.
  bool send_on(Subchannel& subchannel, PacketKind kind, std::span<const std::byte> body,
               std::size_t filling = 0);

  // A packet arrived and was counted; true: the buffer is kept until the packet's turn.
  bool take_packet(Subchannel& subchannel, PacketBuffer* buffer, const PacketHeader& header);
  // What a header or a fence says of the peer's reception.
  bool acknowledge(std::uint32_t sequence_number);

  // The request that sends an entry's packet, whose header it writes: what this end received, too. If the
  // adapter takes it: note_acknowledged_to_peer().
  rdma::SendRequest packet_request(const Subchannel& subchannel, const WorkEntry& entry) const;
  void note_acknowledged_to_peer() {
    acknowledged_to_peer_ = expected_;
    credit_due_ = false;
  }
  // Puts an entry on a subchannel with room, as a packet. False: the adapter refused; a sequenced one waits,
  // another one is gone.
  bool post_packet(Subchannel& subchannel, WorkEntry& entry);
  // It did not arrive (its subchannel failed): wait for another one, in sequence number order.
  void wait_again(WorkEntry& entry);
  // Its adapter acknowledged it; keeps it until the peer itself does.
  void retain(WorkEntry& entry);
  // The peer received only so many packets of the subchannel's present generation, whatever its adapter
  // said.
  void take_back(const Subchannel& subchannel, std::uint32_t received);
  // Issues again what waits, and sends a credit if one is due. True if anything moved.
  bool advance();
  bool idle() const { return waiting_.empty() && !credit_due_; }
  // Now and then: a peer that was told of nothing since the last time is told what was delivered, so that it
  // does not keep its last packets for ever.
  void watch_credit() {
    if (acknowledged_to_peer_ != expected_ && acknowledged_to_peer_ == acknowledged_before_)
      note_credit_due();
    acknowledged_before_ = acknowledged_to_peer_;
  }
  void mark_due();
  void note_credit_due() {
    credit_due_ = true;
    mark_due();
  }

  // A subchannel became ready, or is no longer.
  void on_ready();
  void on_not_ready();
  int ready() const { return ready_; }
  // What the policies see; bytes_per_second are the weights.
  std::span<SubchannelView> views(std::int32_t requests);
  SchedulingPolicy& policy() { return *policy_; }
  // A subchannel for a packet of this size; null: none has room.
  Subchannel* choose(std::int64_t bytes, TrafficClass traffic) {
    if (lane_holds(bytes, traffic)) [[likely]] {
      --lane_.hold.packets;
      return lane_.subchannel;
    }
    return choose_anew(bytes, traffic);
  }

  // The peer is lost: forgets packets, held and waiting. Subchannels have been closed.
  void abandon();
  bool flushed() const;
  std::uint32_t expected() const { return expected_; }
  // Sequenced packets that the peer may still lack.
  std::uint32_t under_way() const { return next_sequence_number_ - acknowledged_; }
  std::uint32_t sent() const { return next_sequence_number_; }  // sequenced packets
  std::uint32_t acknowledged_to_peer() const {
    return acknowledged_to_peer_;
  }  // how many of the peer's it was told were delivered
  std::size_t retained() const { return retained_count_; }
  std::size_t held() const { return held_count_; }
  void check_invariants() const;

  bool lost = false;
  int suspected = 0;  // of the ready subchannels
  int readable = 0;   // exposures that the peer may read
  int writing = 0;    // its transfers that it writes here, as far as they count (Rendezvous::grant)
  std::int64_t writing_part = 0;  // bytes that it counts for all of them
  // -1: some subchannel is ready, or nobody asked for one; 0: asked for after the watchdog's last look.
  Nanoseconds partitioned_since = -1;
  std::uint64_t delivered = 0;
  ListLink in_due;  // into DuePeers while it has something to do

 private:
  // The last choice for packets, which stands until something changes that the policy
  // looked at.
  struct Lane {
    Subchannel* subchannel = nullptr;
    PacketHold hold;
    std::uint32_t weights = 0;  // PathWeights::changes() of then
    std::uint16_t suspected = 0;
    TrafficClass traffic = TrafficClass::blocking;
  };
  bool lane_holds(std::int64_t bytes, TrafficClass traffic) const {
    const Lane& lane = lane_;
    const Subchannel* const s = lane.subchannel;
    // Stripes on the subchannel itself may be overdue, which is a change of its weight.
    return s != nullptr && lane.hold.packets > 0 && bytes <= lane.hold.most_bytes &&
           s->outstanding < lane.hold.most_requests && s->bytes_queued == 0 &&
           s->rail.bytes_queued <= lane.hold.most_queued && lane.weights == weights_.changes() &&
           lane.suspected == suspected && lane.traffic == traffic && s->in_service() &&
           !s->machine().suspected() && s->room_for(1, depth_);
  }
  Subchannel* choose_anew(std::int64_t bytes, TrafficClass traffic);
  bool window_open() const { return next_sequence_number_ - acknowledged_ < packet_window; }
  void hand_on(PacketBuffer& buffer);
  void hand_on_held();

  RailContext& context_;
  RailResources& resources_;
  Upward& upward_;
  DuePeers& due_;
  ProcessIndex process_;
  RailTable remote_;
  std::deque<Subchannel> subchannels_;  // which stay where they are
  std::unique_ptr<SchedulingPolicy> policy_;
  PathWeights weights_;
  std::vector<SubchannelView> views_;
  int ready_ = 0;
  bool reads_ = true;
  bool rejoins_ = false;  // some subchannel was ready before
  Lane lane_;
  const std::int32_t depth_;  // of send queues

  std::uint32_t next_sequence_number_ = 0;
  std::uint32_t acknowledged_ = 0;          // the peer has delivered everything before
  std::uint32_t expected_ = 0;              // the first that was not delivered here
  std::uint32_t acknowledged_to_peer_ = 0;  // the last expected_ that the peer was told
  std::uint32_t acknowledged_before_ = 0;   // acknowledged_to_peer_ at the last watch_credit()
  bool credit_due_ = false;
  std::array<PacketBuffer*, packet_window> held_ = {};  // by sequence number modulo the window
  std::uint32_t held_count_ = 0;
  std::uint32_t retained_count_ = 0;
  EntryList waiting_;
  EntryList retained_;
};

// Peers with packets that wait for room, or a credit to send.
struct DuePeers : IntrusiveList<VirtualChannel, &VirtualChannel::in_due> {};

}  // namespace hawser
