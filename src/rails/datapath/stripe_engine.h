// StripeEngine: moves ranges of bytes between registered memory here and a peer's, in stripes by RDMA write
// or read. Stripes are planned when they are posted, over the subchannels that work then, as the peer's
// policy says. Behind each write of a rendezvous goes a finish on the same queue pair: it tells the peer, and
// after a failure the count of packets tells this end whether the write arrived. Behind puts, which nobody
// counts, goes a read now and then (put_confirmations.h); what it did not confirm is moved again.
//
// A light transfer, of a few bytes, is not planned: it goes over the next of the paths that are about as fast
// as the fastest, as in V07 chapter 5.
//
// A range whose subchannel fails is posted again, without asking the owner: what it may do is the same
// whoever owns it, and older transfers, of any owner, go before younger ones. Only bytes that no adapter
// reaches are handed back.
#pragma once

#include <cstdint>
#include <vector>

#include "rails/datapath/put_confirmations.h"
#include "rails/datapath/rail_context.h"
#include "rails/datapath/rail_resources.h"
#include "rails/datapath/read_finishes.h"
#include "rails/datapath/striped_transfer.h"
#include "rails/datapath/upward.h"
#include "rails/datapath/virtual_channel.h"

namespace hawser {

class StripeEngine {
 public:
  StripeEngine(RailContext& context, RailResources& resources, const Upward& upward)
      : context_(context),
        resources_(resources),
        upward_(upward),
        confirmations_(context, resources),
        finishes_(context, resources),
        read_tokens_(context.knobs.rail_reads) {}

  // The range waits to be posted from now on, behind transfers that were added before.
  void add(StripedTransfer& transfer, const ByteRange& range);
  // The same, and posts it at once if nothing waits before it.
  void begin(StripedTransfer& transfer, const ByteRange& range);
  // The peer's software has what was written: nothing is taken back any more.
  void confirm(StripedTransfer& transfer);
  // Forgets the ranges that wait, and those in flight if they fail.
  void stop(StripedTransfer& transfer);
  // Confirms, and forgets the ranges that wait. Nothing of the transfer may be in flight.
  void withdraw(StripedTransfer& transfer);
  // Posts what can be posted. True if anything was.
  bool progress() {
    const bool posted = to_write_.empty() && to_read_.empty() ? false : post_all();
    return confirmations_.progress() || posted;
  }
  // Posts what can be posted of the reads that were added since the last pass, outside of one. Nothing was
  // done since then, so those that waited before still have no room.
  void post_added_reads();
  // Has what was put to this peer confirmed as soon as can be.
  void confirm_now(VirtualChannel& peer) { confirmations_.confirm_now(peer); }

  // A stripe that is off its subchannel was carried out, or its range is to be moved again. Frees the entry,
  // at once or when the transfer is confirmed.
  void on_done(WorkEntry& entry);
  void on_failed(WorkEntry& entry);
  // The peer's adapter refused it, for its key or bounds: nothing of a one-sided transfer is moved any more.
  void on_refused(const WorkEntry& entry);
  // A confirmation was carried out.
  void on_confirmation(WorkEntry& entry);
  // The peer received only so many packets of the subchannel's present generation, whatever its adapter
  // acknowledged; and of its puts nothing is known that was not confirmed.
  void take_back(Subchannel& subchannel, std::uint32_t received);
  void take_back_puts(Subchannel& subchannel) {
    while (WorkEntry* put = confirmations_.take_unconfirmed(subchannel)) take_back(*put);
  }

  // The peer wants to hear of the transfer in another way: its finishes may be lost.
  void forget_finishes(StripedTransfer& transfer) { finishes_.forget(transfer); }
  // Of the end of a message, with a packet.
  void on_told(const VirtualChannel& peer) { finishes_.on_told(peer); }

  // Whether something goes on only when a request of this process is complete.
  bool moving() const {
    return read_tokens_ + finishes_.reads() < context_.knobs.rail_reads || !to_write_.empty() ||
           !to_read_.empty();
  }
  // Whether some range waits to be moved from or to the peer.
  bool waits_for(const VirtualChannel& peer) const;
  // Stripes that may be read beside those that are.
  std::int64_t read_tokens() const { return read_tokens_; }

 private:
  using TransferList = IntrusiveList<StripedTransfer, &StripedTransfer::link_>;

  // What the planning of a piece needs to know of the subchannels.
  struct Outlook {
    bool any = false;  // usable ones
    double rate = 0, fastest = 0;
    double ports = 0;          // nominal rates of the rails that have one
    double backlog = 0;        // seconds, on the rail where it is shortest
    std::int64_t longest = 0;  // bytes of a stripe
  };
  bool post_all();
  bool post_from(TransferList& list, StripedTransfer* first);
  bool backed_up(const StripedTransfer& transfer) const;
  bool post(StripedTransfer& transfer);
  bool post_light(StripedTransfer& transfer);
  Subchannel* next_in_turn(StripedTransfer& transfer, std::int64_t bytes);
  static std::span<SubchannelView> views_of(const StripedTransfer& transfer);
  bool may_move(const StripedTransfer& transfer) const;
  static std::int64_t end_of(const StripedTransfer& transfer, const ByteRange& range);
  std::int64_t piece_of(const StripedTransfer& transfer, const Outlook& outlook) const;
  Outlook survey(StripedTransfer& transfer, std::span<SubchannelView> views) const;
  bool reached_by_adapters(const StripedTransfer& transfer) const;
  bool give_up(StripedTransfer& transfer);
  bool post_range(StripedTransfer& transfer, const ByteRange& range, std::span<const SubchannelView> views);
  void measure_idle(VirtualChannel& peer);
  std::int64_t post_stripe(StripedTransfer& transfer, const Stripe& stripe);
  bool issue(StripedTransfer& transfer, const ByteRange& range, Subchannel& subchannel);
  bool post(StripedTransfer& transfer, WorkEntry& entry, Subchannel& subchannel);
  void take_back(WorkEntry& entry);
  bool post_write(StripedTransfer& transfer, WorkEntry& entry, Subchannel& subchannel);
  bool post_put(StripedTransfer& transfer, WorkEntry& entry, Subchannel& subchannel);
  bool post_read(StripedTransfer& transfer, WorkEntry& entry, Subchannel& subchannel);
  static Load load_of(const StripedTransfer& transfer);
  static std::int64_t room_beside(const StripedTransfer& transfer, const Subchannel& subchannel,
                                  std::int64_t wanted);
  static bool has_keys(const StripedTransfer& transfer, const Subchannel& subchannel);
  static bool lacks_keys(const StripedTransfer& transfer, const Subchannel& subchannel);
  void end_flight(WorkEntry& entry);
  static std::uint32_t remote_key(const StripedTransfer& transfer, const Subchannel& subchannel);
  TransferList& list_of(const StripedTransfer& transfer) {
    return transfer.direction_ == Direction::write ? to_write_ : to_read_;
  }

  RailContext& context_;
  RailResources& resources_;
  const Upward& upward_;
  PutConfirmations confirmations_;
  ReadFinishes finishes_;
  std::int64_t read_tokens_;
  TransferList to_write_;
  TransferList to_read_;          // first come, first served
  std::int64_t added_reads_ = 0;  // transfers at the end of it, at most, since the last pass
  IntrusiveList<StripedTransfer, &StripedTransfer::written_> written_;
  std::vector<const VirtualChannel*> backed_up_;  // in this pass: no later write to them may be begun
};

}  // namespace hawser
