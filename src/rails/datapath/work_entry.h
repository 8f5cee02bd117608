// WorkEntry: something that was or will be posted on a subchannel and whose fate is not known yet: a packet,
// or a stripe. It is in exactly one place: in flight on one subchannel, fenced with one, waiting to be issued
// again, kept until the peer's software says that it has it, or free.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "base/intrusive_list.h"
#include "base/time.h"
#include "channel/port_use.h"
#include "channel/traffic_class.h"
#include "rails/memory/packet_pool.h"
#include "rails/wire/packet.h"

namespace hawser {

class StripedTransfer;
struct Subchannel;

struct WorkEntry {
  enum class Kind : std::uint8_t {
    packet,
    write,  // with a finish behind it
    put,    // a write that a confirmation proves
    read,
    confirmation,  // reads a byte behind puts
    marker,
  };
  enum class Place : std::uint8_t {
    free,
    in_flight,
    fenced,  // its subchannel is drained; the peer has to say whether it has it
    waiting,
    retained,
  };

  ListLink link;
  std::uint32_t index = 0;
  std::uint32_t generation = 0;  // counts uses, so that a completion that comes late is told
  Kind kind = Kind::packet;
  Place place = Place::free;
  // Packets, and the finish of a stripe; of a read that has none behind it, that of a write.
  PacketKind packet_kind = PacketKind::eager;
  bool sequenced = false;  // packets: issued again until the peer has it
  bool small = false;      // which pool the buffer is of
  bool light = false;      // a stripe that counts as a packet of `bytes`: it tells nothing of a path's rate
  TrafficClass traffic = TrafficClass::blocking;  // packets
  std::uint32_t bytes = 0;                        // packets: with all headers
  std::uint32_t sequence_number = 0;
  // Packets, writes, and reads that have a finish behind them: number of the (finish) packet on its
  // subchannel. Puts: among its puts. Confirmations: how many puts came before.
  std::uint32_t ordinal = 0;
  PacketBuffer* buffer = nullptr;
  Subchannel* subchannel = nullptr;         // in flight or retained
  std::uint32_t connection_generation = 0;  // of that, when it was posted
  // Stripes.
  StripedTransfer* transfer = nullptr;
  std::int64_t offset = 0;
  std::int64_t size = 0;
  // When it was posted.
  struct Before {
    std::int64_t queued = 0;          // bytes of its kind under way on the subchannel
    std::int64_t delivered = 0;       // CongestionWindow::delivered() of the subchannel
    std::int64_t port_delivered = 0;  // stripes: the same of the port
    std::uint32_t others_posted = 0;  // packets: posted_by_others()
    std::uint8_t spread = 0;          // PathSpread::on_posted
  };
  Before before;
  Nanoseconds posted = 0;   // or somewhat earlier: at the last look before
  Nanoseconds watched = 0;  // since the watchdog found it the oldest in flight; 0: not yet

  // On its rail, while it is in flight: a stripe that is written has its finish behind it.
  std::int32_t requests() const { return kind == Kind::write ? 2 : 1; }
  std::uint64_t work_id() const { return std::uint64_t{generation} << 32 | index; }
};
// Whether it is a packet to those who measure paths.
inline bool counts_as_packet(const WorkEntry& entry) {
  return entry.kind == WorkEntry::Kind::packet || entry.light;
}
// Of the port here, which way the bytes of a stripe go.
inline PortSide side_of(const WorkEntry& stripe) {
  return stripe.kind == WorkEntry::Kind::read ? PortSide::in : PortSide::out;
}
using EntryList = IntrusiveList<WorkEntry, &WorkEntry::link>;

class EntryPool {
 public:
  // The generation stays below this, so that other work ids have room above.
  static constexpr std::uint32_t generations = 1u << 30;

  [[gnu::always_inline]] WorkEntry* take() {
    if (free_count_ == 0) [[unlikely]]
      add();
    return free_[--free_count_];
  }
  void give_back(WorkEntry* entry) {
    place(*entry, WorkEntry::Place::free);
    entry->generation = (entry->generation + 1) % generations;
    entry->buffer = nullptr;
    entry->subchannel = nullptr;
    entry->transfer = nullptr;
    entry->light = false;
    free_[free_count_++] = entry;
  }
  // To be called for every move, when `kind` is known.
  void place(WorkEntry& entry, WorkEntry::Place where) {
    if (entry.place == WorkEntry::Place::in_flight) requests_ -= entry.requests();
    if (where == WorkEntry::Place::in_flight) requests_ += entry.requests();
    placed_ += (where != WorkEntry::Place::free) - (entry.place != WorkEntry::Place::free);
    entry.place = where;
  }
  // Null: no entry that is in flight has this id.
  WorkEntry* find(std::uint64_t work_id) {
    const std::uint64_t index = work_id & 0xFFFFFFFF;
    if (index >= entries_.size()) return nullptr;
    WorkEntry& entry = entries_[index];
    return entry.place == WorkEntry::Place::in_flight && entry.generation == work_id >> 32 ? &entry : nullptr;
  }
  std::size_t taken() const { return free_.size() - free_count_; }
  std::int64_t requests() const { return requests_; }  // of all entries in flight
  // Between two passes every entry that was taken is somewhere.
  bool all_placed() const { return placed_ == static_cast<std::int64_t>(taken()); }

 private:
  [[gnu::noinline]] void add() {
    WorkEntry& entry = entries_.emplace_back();
    entry.index = static_cast<std::uint32_t>(entries_.size() - 1);
    free_.resize(entries_.size());
    free_[free_count_++] = &entry;
  }

  std::deque<WorkEntry> entries_;
  std::vector<WorkEntry*> free_;  // so many; the one used last is taken first, and still in the cache
  std::size_t free_count_ = 0;
  std::int64_t requests_ = 0;
  std::int64_t placed_ = 0;
};

}  // namespace hawser
