// VirtualChannel: what a process knows of a peer, and the path of small messages and of everything that the
// protocol says: numbers packets, holds those that come early until their turn, and tells the peer what was
// delivered. Its parts: the window, the subchannels and which of them is used next, the packets that the peer
// may lack. Large messages are in stripe_engine.h.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>

#include "rails/datapath/packet_sender.h"
#include "rails/datapath/rail_context.h"
#include "rails/datapath/rail_resources.h"
#include "rails/datapath/retired_peer.h"
#include "rails/datapath/subchannel.h"
#include "rails/datapath/subchannel_selector.h"
#include "rails/datapath/upward.h"
#include "rails/decision/sequence_window.h"
#include "rails/policy/scheduling_policy.h"
#include "rails/wire/packet.h"
#include "rails/wire/rail_table.h"

namespace hawser {

// Since when a peer is not reached though something is to be sent to it.
class Partition {
 public:
  void begin(Nanoseconds now) { since_ = now; }
  void end() { since_ = -1; }
  // Something is wanted. The last look may be long ago, so time counts from the next one.
  void note_wanted() {
    if (since_ < 0) since_ = 0;
  }
  void look(Nanoseconds now) {
    if (since_ == 0) since_ = now;
  }
  // -1: a subchannel is ready, or nobody asked for one; 0: asked for after the last look.
  Nanoseconds since() const { return since_; }

 private:
  Nanoseconds since_ = -1;
};

class VirtualChannel {
  ListLink in_due_;

 public:
  // Peers with packets that wait for room, or a credit to send.
  using DueList = IntrusiveList<VirtualChannel, &VirtualChannel::in_due_>;

  // `remote`: the peer's rails.
  VirtualChannel(RailContext& context, RailResources& resources, Upward& upward, DueList& due,
                 ProcessIndex process, RailTable remote, std::unique_ptr<SchedulingPolicy> policy);
  ~VirtualChannel();

  ProcessIndex process() const { return process_; }
  std::deque<Subchannel>& subchannels() { return subchannels_; }
  Subchannel* subchannel(std::uint16_t index) {
    return index < subchannels_.size() ? &subchannels_[index] : nullptr;
  }
  // The same, and makes those on demand that were not made yet, up to this one. Not to be called while
  // somebody goes through subchannels().
  Subchannel* obtain(std::uint16_t index);
  // Which subchannels are ready, and which is used next.
  SubchannelSelector& paths() { return paths_; }
  const SubchannelSelector& paths() const { return paths_; }
  PacketSender& packets() { return packets_; }
  const PacketSender& packets() const { return packets_; }
  SequenceWindow& window() { return window_; }
  const SequenceWindow& window() const { return window_; }
  Partition& partition() { return partition_; }
  // The peer's rails as last heard of; addresses may move.
  RailTable& remote() { return remote_; }

  // A packet of these parts, with a sequence number if sequenced. False when there is no room now: nothing
  // was done. `head` is the packet behind its PacketHeader, `payload` follows; payload.size bytes.
  bool send(PacketKind kind, TrafficClass traffic, std::span<const std::byte> head,
            const ByteSequence& payload);
  // Whether a packet may be sent now, over a connection. If there is none, it is made.
  bool room() {
    if (has_room()) [[likely]]
      return true;
    if (send_bundle() && has_room()) return true;
    note_needed();
    return false;
  }
  // An unsequenced packet on this subchannel; with `fenced` it leaves when the reads before it are done.
  // False: no room; the caller repeats or lets it be.
  bool send_on(Subchannel& subchannel, PacketKind kind, std::span<const std::byte> body,
               std::size_t filling = 0, bool fenced = false);

  // A packet arrived and was counted; true: the buffer is kept until the packet's turn.
  bool take_packet(Subchannel& subchannel, PacketBuffer* buffer, const PacketHeader& header);
  // The same of one that came by datagram, a copy of which is kept if it waits.
  void take_datagram(std::span<const std::byte> packet);
  // What a header or a fence says of the peer's reception. False: more than was sent.
  bool acknowledge(std::uint32_t sequence_number);

  // Issues again what waits, and sends a credit if one is due. True if anything moved.
  bool advance();
  // advance() is called soon.
  void mark_due();
  void note_credit_due() {
    window_.set_credit_due(true);
    mark_due();
  }

  // A subchannel became ready, or is no longer.
  void on_ready(const Subchannel& subchannel);
  void on_not_ready(const Subchannel& subchannel, bool on_purpose);

  // The peer is lost: forgets packets, held and waiting. Subchannels have been closed.
  void abandon();
  bool lost() const { return lost_; }
  bool flushed() const;
  void check_invariants() const;

 private:
  friend class PeerTable;  // retires and restores it, and lets bundles go
  // Whether nothing has been sent or received for so long, nothing is under way, and no connection is there
  // or on its way, as seen in regular looks at `now`.
  bool rested(Nanoseconds now, Nanoseconds for_so_long);
  RetiredPeer retire() const;
  // Of one that was just made.
  void restore(const RetiredPeer& retired);
  bool at_rest() const;
  bool idle() const { return !packets_.waiting() && !window_.credit_due(); }
  bool has_room() const { return window_.open() && paths_.ready() > 0 && !packets_.waiting(); }
  // There is something to send that needs a connection: if there is none, it is made.
  [[gnu::cold]] void note_needed();
  [[gnu::cold]] bool refuse();
  [[gnu::cold]] bool send_by_datagram(PacketKind kind, TrafficClass traffic, std::span<const std::byte> head,
                                      const ByteSequence& payload);
  WorkEntry& make_packet(PacketKind kind, TrafficClass traffic, std::span<const std::byte> head,
                         const ByteSequence& payload, PacketBuffer* buffer, bool small);
  bool open_bundle(TrafficClass traffic);
  // Posts the open bundle. False: there is none, or it has to wait on.
  bool send_bundle();
  bool is_small(std::size_t bytes) const {
    return bytes + context_.trailer() <= resources_.small_packets.buffer_bytes();
  }
  void make(const SubchannelPlace& place);
  bool make_next();
  bool hold(std::uint32_t sequence_number, PacketBuffer* buffer);
  void deliver(std::span<const std::byte> packet);
  void deliver_held();

  RailContext& context_;
  RailResources& resources_;
  Upward& upward_;
  DueList& due_;
  ProcessIndex process_;
  bool lost_ = false;
  bool rejoins_ = false;  // some subchannel was ready before, and it was not closed on purpose
  bool closed_ = false;   // some was closed on purpose since one was ready
  RailTable remote_;
  std::deque<Subchannel> subchannels_;  // which stay where they are
  SubchannelSelector paths_;
  SequenceWindow window_;
  PacketSender packets_;
  Partition partition_;
  std::uint32_t held_count_ = 0;
  std::uint32_t packets_at_look_ = 0;  // sent and received, at the last look of rested()
  Nanoseconds rests_since_ = 0;
  using Held = std::array<PacketBuffer*, packet_window>;  // by sequence number modulo the window
  std::unique_ptr<Held> held_;                            // null: none
};

}  // namespace hawser
