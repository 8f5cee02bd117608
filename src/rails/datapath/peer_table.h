// PeerTable: the processes that this one sends to or hears from, each with its VirtualChannel, made when it
// is first needed. One that was not needed for long is retired: little of it is kept, from which it is made
// again when it is needed.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "rails/datapath/rail_context.h"
#include "rails/datapath/rail_resources.h"
#include "rails/datapath/retired_peer.h"
#include "rails/datapath/upward.h"
#include "rails/datapath/virtual_channel.h"

namespace hawser {

class PeerTable {
 public:
  PeerTable(RailContext& context, RailResources& resources, Upward& upward);

  // Null: not known yet.
  VirtualChannel* find(ProcessIndex process) const {
    return process >= 0 && static_cast<std::size_t>(process) < peers_.size()
               ? peers_[static_cast<std::size_t>(process)].get()
               : nullptr;
  }
  // Makes it when it is first needed. Null: the peer has no rails that fit ours.
  VirtualChannel* obtain(ProcessIndex process) {
    if (VirtualChannel* known = find(process)) [[likely]]
      return known;
    return make(process);
  }
  // In the order in which they became known. Grows when packets are handled.
  const std::vector<VirtualChannel*>& known() const { return known_; }
  // What is kept for those that are known, beside queue pairs and packets.
  std::size_t bytes() const;
  // Whether the peer has rested for so long that it may be retired. To be asked now and then.
  bool rested(VirtualChannel& peer) const { return peer.rested(context_.now, context_.settings.peer_rest); }
  // Nobody but this table knows the peer's VirtualChannel any more: it goes.
  void retire(VirtualChannel& peer);
  // Packets that were sent to a retired peer, and came from it; null: it is not one.
  const RetiredPeer* find_retired(ProcessIndex process) const {
    const auto place = retired_.find(process);
    return place == retired_.end() ? nullptr : &place->second;
  }
  // How many processes there may be.
  std::size_t capacity() const { return peers_.size(); }
  // Posts what waits for room, and credits that are due. True if anything moved.
  bool advance();
  // Outside of progress, the open bundles of all peers.
  void send_bundles();
  // Whether some packets or credits wait for room.
  bool waiting() const { return !due_.empty(); }
  // Queue pairs go before what they were made from.
  void destroy_queue_pairs();

 private:
  VirtualChannel* make(ProcessIndex process);
  int home_of(ProcessIndex process) const;

  RailContext& context_;
  RailResources& resources_;
  Upward& upward_;
  std::vector<bool> unreachable_;  // peers without rails that fit
  VirtualChannel::DueList due_;
  std::vector<std::unique_ptr<VirtualChannel>> peers_;
  std::vector<VirtualChannel*> known_;
  std::unordered_map<ProcessIndex, RetiredPeer> retired_;
};

}  // namespace hawser
