// The two ends of a rendezvous: an Exposure at the sender, a Fetch at the receiver. The stripe engine moves
// the bytes: by RDMA read it works for the fetch, by RDMA write for the exposure.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "base/byte_sequence.h"
#include "base/intrusive_list.h"
#include "channel/transport.h"
#include "rails/datapath/byte_ranges.h"
#include "rails/datapath/striped_transfer.h"
#include "rails/decision/write_grants.h"
#include "rails/wire/packet.h"

namespace hawser {

struct RendezvousTransfer : StripedTransfer {
  using StripedTransfer::StripedTransfer;
  enum class State : std::uint8_t {
    free,
    offered,   // exposure: the start is on its way; fetch: nobody has asked for it yet
    moving,    // bytes
    answering  // fetch: a reply or a done is to be sent
  };
  ListLink link;  // in the list of what is to be sent next
  TransferName name;
  State state = State::free;
  ByteSequence bytes;         // what is exposed, or where to
  Completion* end = nullptr;  // whom to tell
  std::int64_t size = 0;      // to be moved
  TransferName other;         // its name at the other end
  bool readable = false;      // the protocol: by RDMA read
  bool in_packets = false;    // no adapter is to move it

  bool all_moved() const { return moved() >= size; }
  // Whether the adapters move other bytes than the application's own: these are not in one piece.
  bool copied() const { return !bytes.contiguous(); }
  void reset();
};

struct Exposure : RendezvousTransfer {
  Exposure() : RendezvousTransfer(Direction::write) {}
  bool confirmed = false;  // the receiver has everything
  std::int64_t read = 0;   // bytes of which read finishes came

  void reset() {
    RendezvousTransfer::reset();
    confirmed = false;
    read = 0;
  }
};

struct Fetch : RendezvousTransfer {
  Fetch() : RendezvousTransfer(Direction::read) {}
  std::int64_t offered = 0;  // bytes exposed
  bool checked = false;      // the exposed bytes have this checksum
  bool takes_finishes = false;
  std::uint32_t checksum = 0;
  RangeSet arrived;  // of what is written
  WriteGrant grant;  // the permission to write

  void reset() {
    HAWSER_ASSERT(!grant.given());
    RendezvousTransfer::reset();
    offered = 0;
    checked = takes_finishes = false;
    arrived.clear();
  }
};

// Numbered places that are used again and stay where they are.
template <class Transfer>
class TransferTable {
 public:
  Transfer& take(VirtualChannel& peer, TrafficClass traffic, StripeOwner& owner) {
    if (free_.empty()) {
      Transfer& added = items_.emplace_back();
      added.name.place = static_cast<std::uint32_t>(items_.size() - 1);
      free_.push_back(added.name.place);
    }
    Transfer& transfer = items_[free_.back()];
    free_.pop_back();
    transfer.begin(peer, traffic, owner);
    transfer.state = Transfer::State::offered;
    ++live_;
    return transfer;
  }
  void release(Transfer& transfer) {
    transfer.reset();
    transfer.state = Transfer::State::free;
    ++transfer.name.generation;
    free_.push_back(transfer.name.place);
    --live_;
  }
  // Null: there is none of this name, or it is not with this peer.
  Transfer* find(const TransferName& name, const VirtualChannel& peer) {
    Transfer* const transfer = find(name);
    return transfer != nullptr && &transfer->peer() == &peer ? transfer : nullptr;
  }
  Transfer* find(const TransferName& name) {
    if (name.place >= items_.size()) return nullptr;
    Transfer& transfer = items_[name.place];
    return transfer.state != Transfer::State::free && transfer.name == name ? &transfer : nullptr;
  }
  // Calls it with each transfer that is alive, which it may release.
  template <class Visitor>
  void visit(Visitor&& visitor) {
    for (std::size_t place = 0; place < items_.size(); ++place)
      if (items_[place].state != Transfer::State::free) visitor(items_[place]);
  }
  template <class Visitor>
  void visit(Visitor&& visitor) const {
    for (const Transfer& transfer : items_)
      if (transfer.state != Transfer::State::free) visitor(transfer);
  }
  std::uint32_t live() const { return live_; }

 private:
  std::deque<Transfer> items_;
  std::vector<std::uint32_t> free_;
  std::uint32_t live_ = 0;
};

}  // namespace hawser
