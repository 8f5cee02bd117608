// Rendezvous: large messages. The sender exposes bytes (start); the receiver, once it knows where they go,
// reads them (then: done) or says where to write them (reply; each stripe is followed by its finish on the
// same queue pair). Stripes are planned when they are posted, over the subchannels that work then.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "channel/transport.h"
#include "rails/datapath/peer_table.h"
#include "rails/datapath/rail_context.h"
#include "rails/datapath/rail_resources.h"
#include "rails/datapath/transfer.h"
#include "rails/datapath/upward.h"
#include "rails/datapath/work_entry.h"
#include "rails/decision/congestion_window.h"
#include "rails/policy/scheduling_policy.h"

namespace hawser {

class Rendezvous final : private PacketHandler, private StripeEvents {
 public:
  Rendezvous(RailContext& context, RailResources& resources, const PeerTable& peers, Upward& upward);

  bool try_expose(VirtualChannel& peer, const TransportHeader& header, const ByteSequence& bytes,
                  Completion* end);
  void fetch(VirtualChannel& peer, const ExposeToken& token, const ByteSequence& into, Completion* end);

  // A stripe, which is off its subchannel: its bytes are there, or they are to be moved again. Frees it.
  void on_stripe_done(WorkEntry& entry) override;
  void on_stripe_failed(WorkEntry& entry);

  // The peer received only so many packets of the subchannel's present generation, whatever its adapter
  // acknowledged.
  void take_back(const Subchannel& subchannel, std::uint32_t received);

  // Posts what can be posted, and reports what ended.
  bool progress();
  // Ends all transfers with the peer with this error. Nothing of them is in flight any more.
  void abandon(VirtualChannel& peer, const Error& error);
  bool flushed() const;
  void check_invariants() const;
  // Where a transfer's bytes lie here, as the peer is told.
  RemoteBytes own_bytes(const Transfer& transfer) const;
  std::int64_t read_tokens() const { return read_tokens_; }
  // When progress wants to be called though nothing arrives.
  Nanoseconds deadline() const;

  // What was exposed here, and what is or may be fetched to here.
  TransferTable& exposures() { return exposures_; }
  TransferTable& fetches() { return fetches_; }

 private:
  void on_packet(const ReceivedPacket& packet) override;
  void on_start(VirtualChannel& peer, std::span<const std::byte> packet);
  void on_reply(VirtualChannel& peer, std::span<const std::byte> packet);
  void on_done(VirtualChannel& peer, std::span<const std::byte> packet);
  void on_finish(VirtualChannel& peer, std::span<const std::byte> packet);
  void on_data(VirtualChannel& peer, std::span<const std::byte> packet);

  struct Landed {
    Completion* end;
    bool lost;  // the peer is; false: there was nothing to fetch
  };
  // False: no device takes the memory.
  bool register_bytes(Transfer& transfer, bool writable);
  void register_in_place(Registration& registration, std::byte* data, std::int64_t size, bool writable);
  void register_packed(Registration& registration, std::int64_t size);
  // Without an adapter: rendezvous_packets.cpp.
  void lay_out(Transfer& transfer);
  bool reached_by_adapters(const Transfer& transfer) const;
  bool move_in_packets(Transfer& transfer, Direction direction);
  bool send_packets(Transfer& exposure);
  void ask_for_packets(Transfer& fetch);
  Transfer* written_fetch(VirtualChannel& peer, const TransferName& name, const ByteRange& range);
  void arrived(Transfer& fetch, const ByteRange& range);

  bool answer(Transfer& fetch);
  bool grant(const Transfer& fetch);
  void hear_of_grant(Transfer& fetch);
  void end_grant(Transfer& fetch);
  Nanoseconds silence() const;
  bool many_readers() const;
  void end_readable(Transfer& exposure);
  bool post_stripes(Transfer& transfer, Direction direction);
  // How many of its bytes were posted; the rest has to wait.
  std::int64_t post_stripe(Transfer& transfer, Direction direction, const Stripe& stripe);
  bool post_write(Transfer& transfer, WorkEntry& entry, Subchannel& subchannel);
  bool post_read(Transfer& transfer, WorkEntry& entry, Subchannel& subchannel);
  bool written(const Transfer& exposure) const {
    return exposure.confirmed && exposure.done >= exposure.size;
  }
  void end_exposure(Transfer& exposure);
  void forget_acknowledged(Transfer& exposure);
  void end_fetch(Transfer& fetch);
  void read_again(Transfer& fetch);

  RailContext& context_;
  RailResources& resources_;
  const PeerTable& peers_;
  Upward& upward_;
  const bool reads_;
  std::int64_t read_tokens_;
  TransferTable exposures_;
  TransferTable fetches_;
  TransferList to_write_;
  TransferList to_read_;  // first come, first served
  TransferList to_answer_;
  // Written to now, the one that was not heard of for longest first; what they may be together.
  TransferList granted_;
  CongestionWindow grant_window_;
  std::int64_t granted_bytes_ = 0;
  int reading_peers_ = 0;  // with exposures that they may read
  std::deque<Landed> landed_;
  std::vector<const VirtualChannel*> backed_up_;  // in this pass: no later write to them may be begun
};

}  // namespace hawser
