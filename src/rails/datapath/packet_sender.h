// PacketSender: posts packets of a virtual channel, and keeps the sequenced ones until the peer has delivered
// them: those that wait to be posted again after their subchannel failed, and those that the peer's adapter
// acknowledged, which may die before the peer's software sees them.
#pragma once

#include <cstdint>

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

  bool waiting() const { return !waiting_.empty(); }
  // Null: none waits.
  WorkEntry* first_waiting() const { return waiting_.front(); }
  WorkEntry& take_first_waiting() { return *waiting_.pop_front(); }
  std::size_t retained() const { return retained_count_; }
  void clear();
  void check_invariants() const;

 private:
  rdma::SendRequest make_request(const Subchannel& subchannel, const WorkEntry& entry, bool fenced) const;

  RailContext& context_;
  RailResources& resources_;
  SequenceWindow& window_;
  std::uint32_t retained_count_ = 0;
  DatagramUse datagrams_;
  EntryList waiting_;
  EntryList retained_;
};

}  // namespace hawser
