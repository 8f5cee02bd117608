// Rendezvous: large messages. The sender exposes bytes (start); the receiver, once it knows where they go,
// reads them (then: done) or says where to write them (reply; each stripe is followed by its finish on the
// same queue pair). The stripe engine moves the bytes; this owns the transfers and speaks with the peer.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "channel/transport.h"
#include "rails/datapath/peer_table.h"
#include "rails/datapath/rail_context.h"
#include "rails/datapath/rail_resources.h"
#include "rails/datapath/stripe_engine.h"
#include "rails/datapath/upward.h"
#include "rails/decision/write_grants.h"
#include "rails/protocol/rendezvous_transfer.h"

namespace hawser {

class Rendezvous final : private PacketHandler, private StripeOwner {
 public:
  Rendezvous(RailContext& context, RailResources& resources, StripeEngine& stripes, const PeerTable& peers,
             Upward& upward);

  bool try_expose(VirtualChannel& peer, const TransportHeader& header, const ByteSequence& bytes,
                  Completion* end);
  void fetch(VirtualChannel& peer, const ExposeToken& token, const ByteSequence& into, Completion* end);

  // Sends what can be sent, and reports what ended.
  bool progress();
  // The former, of answers only: also outside of progress.
  bool send_answers() { return send_answers(to_answer_.front()); }
  // Of those that became due since the last pass.
  void send_added_answers();
  bool awaits_room() const { return !to_answer_.empty() || !in_packets_.empty(); }
  // A connection to the peer is gone, and what came over it has been handled: of exposed bytes that it reads,
  // a read finish may be lost.
  void ask_for_ends(VirtualChannel& peer);
  // Ends all transfers with the peer with this error. Nothing of them is in flight any more.
  void abandon(VirtualChannel& peer, const Error& error);
  // Whether anything goes on that has to do with the peer.
  bool concerns(const VirtualChannel& peer) const;
  // All registrations with the device go; or are made again, and peers are told the new keys.
  void on_device_closed(std::size_t device);
  void on_device_opened(std::size_t device);

  bool flushed() const;
  std::uint32_t exposed() const { return exposures_.live(); }
  std::uint32_t fetched() const { return fetches_.live(); }
  bool all_keys_told() const { return untold_.empty(); }
  void check_invariants() const;
  // When progress wants to be called though nothing arrives.
  Nanoseconds deadline() const { return to_answer_.empty() ? never : grants_.deadline(); }

 private:
  void on_packet(const ReceivedPacket& packet) override;
  void on_start(VirtualChannel& peer, std::span<const std::byte> packet);
  void on_reply(VirtualChannel& peer, std::span<const std::byte> packet);
  void on_confirmed(VirtualChannel& peer, std::span<const std::byte> packet);
  void on_finish(VirtualChannel& peer, std::span<const std::byte> packet);
  void on_data(VirtualChannel& peer, std::span<const std::byte> packet);
  void on_keys(VirtualChannel& peer, std::span<const std::byte> packet);

  // What takes the place of a done: rendezvous_finishes.cpp.
  bool takes_finishes(const Fetch& fetch) const;
  void on_read_finish(VirtualChannel& peer, std::span<const std::byte> packet);
  void on_asked(VirtualChannel& peer, const TransferName& exposed);
  bool tell_ends();

  bool prepare(StripedTransfer& transfer) override;
  void on_done(StripedTransfer& transfer, const ByteRange& range) override;
  void on_failed(StripedTransfer& transfer) override;

  struct Landed {
    Completion* end;
    bool lost;  // the peer is; false: there was nothing to fetch
  };
  struct Untold {
    bool exposed;  // the exposed bytes; else where to write
    TransferName name;
    bool asks = false;
  };
  struct End {
    VirtualChannel* peer;
    TransferName exposed;
  };
  // False: no device takes the memory.
  bool register_bytes(RendezvousTransfer& transfer, bool writable);

  // Without an adapter: rendezvous_packets.cpp.
  void lay_out(RendezvousTransfer& transfer);
  bool send_packets(Exposure& exposure);
  void ask_for_packets(Fetch& fetch);
  Fetch* written_fetch(VirtualChannel& peer, const TransferName& name, const ByteRange& range);
  void arrived(Fetch& fetch, const ByteRange& range);

  bool send_answers(RendezvousTransfer* first);
  void await_answer(Fetch& fetch);
  bool answer(Fetch& fetch);
  bool tell_done(Fetch& fetch);
  bool tell_key(const Untold& untold);
  bool tell_keys();
  bool many_readers() const;
  int& readable(const VirtualChannel& peer);
  void begin_readable(Exposure& exposure);
  void end_readable(Exposure& exposure);
  bool written(const Exposure& exposure) const { return exposure.confirmed && exposure.all_moved(); }
  Completion* forget(Exposure& exposure);
  void end_exposure(Exposure& exposure);
  void end_fetch(Fetch& fetch);
  void report_landed();

  RailContext& context_;
  RailResources& resources_;
  StripeEngine& stripes_;
  const PeerTable& peers_;
  const bool reads_;
  const bool finishes_;                // of reads
  TransferTable<Exposure> exposures_;  // what was exposed here
  TransferTable<Fetch> fetches_;       // what is or may be fetched to here
  using WaitingList = IntrusiveList<RendezvousTransfer, &RendezvousTransfer::link>;
  WaitingList to_answer_;   // fetches
  int added_answers_ = 0;   // at the end of it, at most, since the last pass
  WaitingList in_packets_;  // exposures
  WriteGrants grants_;
  std::vector<int> readable_;  // by process: exposures that it may read
  int reading_peers_ = 0;      // with such
  std::deque<Landed> landed_;
  std::deque<Untold> untold_;  // keys
  std::deque<End> ends_;       // dones of fetches that are over, for peers that asked
};

}  // namespace hawser
