// A rendezvous, as its two ends see it: an Exposure at the sender, a Fetch at the receiver. The bytes go in
// stripes, by RDMA read (the receiver posts them) or by RDMA write (the sender does). Ranges that no stripe
// carries now wait in `remaining`; a stripe that failed puts its range back.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "base/byte_sequence.h"
#include "base/intrusive_list.h"
#include "rails/datapath/work_entry.h"
#include "rails/memory/registration_cache.h"
#include "rails/wire/packet.h"

namespace hawser {

class VirtualChannel;

struct ByteRange {
  std::int64_t offset = 0;
  std::int64_t size = 0;
};

// Disjoint ranges in ascending order, adjacent ones joined.
class RangeSet {
 public:
  // False when it overlaps what is there: nothing was done.
  bool add(const ByteRange& range);
  void clear() {
    ranges_.clear();
    total_ = 0;
  }
  std::int64_t total() const { return total_; }

 private:
  std::vector<ByteRange> ranges_;
  std::int64_t total_ = 0;
};

// Users' bytes made reachable for the adapters: registered where they lie, which the cache does, or packed
// into a buffer of their own.
struct Registration {
  std::byte* address = nullptr;
  RegistrationCache* cache = nullptr;
  RegisteredRegion* cached = nullptr;                        // where they lie
  std::vector<std::unique_ptr<rdma::MemoryRegion>> regions;  // packed; by number of the device; null: refused
  std::unique_ptr<std::byte[]> packed;
  bool refused = false;  // no adapter reaches them, and none is to be asked again

  Registration() = default;
  Registration(const Registration&) = delete;
  Registration& operator=(const Registration&) = delete;
  ~Registration() { clear(); }

  bool made() const { return address != nullptr; }
  bool usable(std::size_t device) const {
    if (cached != nullptr) return (cached->devices() >> device & 1) != 0;
    return device < regions.size() && regions[device] != nullptr;
  }
  std::uint32_t local_key(std::size_t device) const {
    return cached != nullptr ? cached->local_key(static_cast<int>(device)) : regions[device]->local_key();
  }
  std::uint32_t remote_key(std::size_t device) const {
    return cached != nullptr ? cached->remote_key(static_cast<int>(device)) : regions[device]->remote_key();
  }
  void clear() {
    if (cached != nullptr) cache->release(cached);
    cached = nullptr;
    regions.clear();
    packed.reset();
    refused = false;
    address = nullptr;
  }
};

struct Transfer {
  enum class State : std::uint8_t {
    free,
    offered,   // exposure: the start is on its way; fetch: nobody has asked for it yet
    moving,    // stripes
    answering  // fetch: a reply or a done is to be sent
  };
  ListLink link;  // in the list of what is to be posted next
  TransferName name;
  State state = State::free;
  VirtualChannel* peer = nullptr;
  ByteSequence bytes;                             // what is exposed, or where to
  Completion* end = nullptr;                      // whom to tell
  TrafficClass traffic = TrafficClass::blocking;  // of the send, as its process says
  std::int64_t size = 0;                          // to be moved
  std::int64_t done = 0;
  std::int32_t in_flight = 0;  // stripes
  std::int64_t posted = 0;     // bytes of them
  Registration registration;
  TransferName other;        // its name at the other end
  RemoteBytes remote;        // the bytes at the other end
  std::int64_t offered = 0;  // fetch: bytes exposed
  bool readable = false;     // the protocol: by RDMA read
  bool reissued = false;     // a stripe failed
  // What is left goes in packets, for the system lets too little memory be registered at one of the ends.
  bool in_packets = false;
  bool begun() const { return posted > 0 || done > 0 || reissued; }
  // Whether the adapters move other bytes than the application's own: these are not in one piece, or fewer.
  bool copied() const { return !bytes.contiguous() || bytes.size < size; }
  bool checked = false;  // fetch: the exposed bytes have this checksum
  std::uint32_t checksum = 0;
  std::uint32_t damaged = 0;  // how often they came with another one
  std::vector<ByteRange> remaining;
  RangeSet arrived;  // fetch that is written
  // Exposure that is written: stripes that the peer's adapter acknowledged, until its software says that all
  // have come (it may die with them); whether it has.
  EntryList acknowledged;
  bool confirmed = false;
  // Fetch that is written: whether it counts among all that may be written here at once; what
  // CongestionWindow::delivered() was when it was granted, when that was, and when something of it arrived
  // last.
  bool granted = false;
  std::int64_t granted_with = 0;
  Nanoseconds granted_at = 0;
  Nanoseconds granted_heard = 0;
};
using TransferList = IntrusiveList<Transfer, &Transfer::link>;

// Numbered places that are used again and stay where they are.
class TransferTable {
 public:
  Transfer& take(VirtualChannel& peer) {
    if (free_.empty()) {
      Transfer& added = items_.emplace_back();
      added.name.place = places() - 1;
      free_.push_back(added.name.place);
    }
    Transfer& transfer = items_[free_.back()];
    free_.pop_back();
    transfer.peer = &peer;
    transfer.state = Transfer::State::offered;
    ++live_;
    return transfer;
  }
  void release(Transfer& transfer);
  Transfer& operator[](std::uint32_t place) { return items_[place]; }
  const Transfer& operator[](std::uint32_t place) const { return items_[place]; }
  // Null: there is none of this name, or it is not with this peer.
  Transfer* find(const TransferName& name, const VirtualChannel& peer) {
    if (name.place >= items_.size()) return nullptr;
    Transfer& transfer = items_[name.place];
    return transfer.state != Transfer::State::free && transfer.name == name && transfer.peer == &peer
               ? &transfer
               : nullptr;
  }
  std::uint32_t places() const { return static_cast<std::uint32_t>(items_.size()); }
  std::uint32_t live() const { return live_; }

 private:
  std::deque<Transfer> items_;
  std::vector<std::uint32_t> free_;
  std::uint32_t live_ = 0;
};

}  // namespace hawser
