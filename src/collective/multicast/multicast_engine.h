// MulticastEngine: broadcasts by multicast of one process, on all its communicators. Takes packets and active
// messages to the group that they are of, and runs the groups' timers.
//
// A root may free its communicator before all leaders have its last packets: then its MulticastRoot lives on
// here until they have.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "channel/channel_set.h"
#include "channel/lane.h"
#include "channel/multicast.h"
#include "collective/multicast/multicast_wire.h"
#include "communicator/group.h"

namespace hawser {

class MulticastGroup;
class MulticastRoot;

struct MulticastCounters {
  std::uint64_t by_multicast = 0, by_trees = 0;  // broadcasts of which this process is the root
  std::uint64_t repairs = 0;                     // packets sent again to one leader
  std::uint64_t waits = 0;                       // times that this process told a root that nothing comes
  std::uint64_t suspensions = 0;                 // times that it was left alone for a while
  // Of ranks that are not leaders: broadcasts that they had from packets, and how often they changed.
  std::uint64_t listened = 0, attachments = 0, detachments = 0;
};

class MulticastEngine final : private ActiveMessageHandler, private MulticastHandler {
 public:
  // Both must stay until close(). Groups keep this and may be destroyed later.
  MulticastEngine(Lane& lane, ChannelSet& channels);
  ~MulticastEngine();
  void close();
  MulticastEngine(const MulticastEngine&) = delete;
  MulticastEngine& operator=(const MulticastEngine&) = delete;

  // Whether the pass that follows is to know the time exactly.
  bool wants_time() const { return touched_ || listenings_ > 0 || due_ != never; }
  // Before the transports' progress, which brings packets.
  void begin_pass(Nanoseconds now) {
    if (now - now_ > longest_pass) returned_ = now;
    now_ = now;
  }
  // The rest of a pass; true if anything moved.
  bool progress();
  const MulticastCounters& counters() const { return counters_; }
  // A process has failed, and acknowledges nothing any more: what is left of communicators with it is
  // dropped.
  void lose(ProcessIndex process);

  // For groups and roots.
  Multicast* network() const { return network_; }  // null: there is none
  Transport* channel_of(ProcessIndex process) { return channels_->channel_of(process); }
  Nanoseconds now() const { return now_; }  // of this pass; between passes, of the last
  // The last pass before which there was none for a while: what came meanwhile may not be taken yet.
  Nanoseconds returned() const { return returned_; }
  MulticastCounters& counters() { return counters_; }
  void add(MulticastGroup& group);
  void remove(MulticastGroup& group, std::unique_ptr<MulticastRoot> root, bool joined);
  // Broadcasts that are listened for begin or end: how long they take is measured.
  void count_listenings(int change) { listenings_ += change; }
  // Something changed: groups are to be looked at.
  void touch() { touched_ = true; }
  // Tells a root; false: no room.
  bool tell(ProcessIndex root, int own_rank, const MulticastKey& key, const LeaderStatus& status);
  // The same as soon as there is room.
  void tell_later(ProcessIndex root, int own_rank, const MulticastKey& key, const LeaderStatus& status);
  bool tell_repair(ProcessIndex leader, const MulticastHeader& header, std::span<const std::byte> bytes);

 private:
  struct Orphan;
  struct Told {
    ProcessIndex root;
    MulticastControl header;
    LeaderStatus status;
  };
  void on_packet(ProcessIndex source, const TransportHeader& header, const std::byte* payload,
                 std::int64_t size) override;
  void on_offer(ProcessIndex source, const TransportHeader& header, const ExposeToken& token,
                std::int64_t size) override;
  EagerSink on_eager_begin(ProcessIndex source, const TransportHeader& header, std::int64_t size) override;
  void on_multicast(std::span<const std::byte> header, std::span<const std::byte> payload) override;
  void on_status(ProcessIndex source, const MulticastControl& header, const LeaderStatus& status);
  bool send_told();

  Lane* lane_;  // null: it is closed
  ChannelSet* channels_;
  Multicast* network_ = nullptr;
  static constexpr Nanoseconds longest_pass = 10 * microsecond;
  Nanoseconds now_ = 0, returned_ = 0;
  Nanoseconds due_ = never;
  bool touched_ = false;
  int listenings_ = 0;
  std::map<MulticastKey, MulticastGroup*> groups_;
  std::map<MulticastKey, std::unique_ptr<Orphan>> orphans_;
  std::deque<Told> told_later_;
  MulticastCounters counters_;
  std::vector<std::byte> repair_;  // scratch
};

}  // namespace hawser
