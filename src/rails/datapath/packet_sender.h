// PacketSender: posts packets of a virtual channel, and keeps the sequenced ones until the peer has delivered
// them: those that wait to be posted again after their subchannel failed, and those that the peer's adapter
// acknowledged, which may die before the peer's software sees them.
#pragma once

#include <cstdint>
#include <span>

#include "base/byte_sequence.h"
#include "rails/datapath/rail_context.h"
#include "rails/datapath/rail_resources.h"
#include "rails/datapath/subchannel.h"
#include "rails/datapath/work_entry.h"
#include "rails/decision/datagram_use.h"
#include "rails/decision/sequence_window.h"

namespace hawser {

class PacketSender {
 public:
  PacketSender(RailContext& context, RailResources& resources, SequenceWindow& window)
      : context_(context), resources_(resources), window_(window) {}

  // The request that sends an entry's packet, whose header it writes. It acknowledges what this end received:
  // if the adapter takes it, SequenceWindow::note_acknowledged_to_peer().
  rdma::SendRequest request(const Subchannel& subchannel, const WorkEntry& entry) const;
  // Puts an entry on a subchannel with room. False: the adapter refused; a sequenced one waits, another one
  // is gone.
  bool post(Subchannel& subchannel, WorkEntry& entry, bool fenced = false);
  // It did not arrive (its subchannel failed): waits for another one, in order of sequence numbers.
  void wait_again(WorkEntry& entry);
  // Its adapter acknowledged it; keeps it until the peer itself does.
  void retain(WorkEntry& entry);
  // It goes by datagram: kept until the peer acknowledges it.
  void retain_datagram(WorkEntry& entry);
  // The datagrams that the peer did not acknowledge, from the first.
  template <class Function>
  void for_each_datagram(Function&& function) {
    for (WorkEntry* entry = retained_.front(); entry != nullptr; entry = retained_.next(entry))
      if (entry->subchannel == nullptr) function(*entry);
  }
  DatagramUse& datagrams() { return datagrams_; }
  const DatagramUse& datagrams() const { return datagrams_; }
  // Whether the peer may lack some.
  bool datagrams_under_way() const { return datagrams_.under_way(window_); }
  // They wait for a connection, as packets that were lost with one do.
  void take_back_datagrams();
  // The peer received only so many packets of the subchannel's present generation, whatever its adapter said:
  // the others wait again.
  void take_back(const Subchannel& subchannel, std::uint32_t received);
  // The peer delivered more.
  void release_acknowledged();

  // A bundle: small messages that wait to go out as one packet. It is the last of what waits, and was never
  // posted. Null: there is none.
  const WorkEntry* bundle() const { return bundle_; }
  // An entry without messages yet.
  void open_bundle(WorkEntry& entry);
  // One more message with that header. False: no bundle, or it is full.
  bool add_to_bundle(std::span<const std::byte> header, const ByteSequence& payload);
  bool bundle_full() const { return bundled_ >= context_.knobs.rail_bundle; }
  // It may go: keeps account of how long it waited for that.
  void note_bundle_due();

  bool waiting() const { return !waiting_.empty(); }
  // Null: none waits.
  WorkEntry* first_waiting() const { return waiting_.front(); }
  WorkEntry& take_first_waiting() {
    if (waiting_.front() == bundle_) close_bundle();
    return *waiting_.pop_front();
  }
  std::size_t retained() const { return retained_count_; }
  void clear();
  void check_invariants() const;

 private:
  void close_bundle();
  std::uint64_t sends() const { return context_.counters.packets_sent + context_.counters.messages_bundled; }
  rdma::SendRequest make_request(const Subchannel& subchannel, const WorkEntry& entry, bool fenced) const;

  RailContext& context_;
  RailResources& resources_;
  SequenceWindow& window_;
  std::uint32_t retained_count_ = 0;
  DatagramUse datagrams_;
  EntryList waiting_;
  WorkEntry* bundle_ = nullptr;
  std::int64_t bundled_ = 0;  // messages in it
  struct BundleStart {
    Nanoseconds at = 0;
    std::uint64_t sends = 0;  // of the process
    ThreadUse use;
    bool watched = false;  // the use is known
    bool due = false;
  } bundle_start_;
  EntryList retained_;
};

}  // namespace hawser
