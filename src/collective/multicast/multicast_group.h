// MulticastGroup: broadcasts by multicast on one communicator of several nodes. Every process may be a root;
// the first rank of each node is its leader, which is attached, and takes what comes from the roots on other
// nodes. The node's other ranks attach only if they wait for long (MulticastListener).
//
// The first broadcasts of each root go by other ways: then its leaders tell it whether they are attached.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/intrusive_list.h"
#include "collective/multicast/multicast_agreement.h"
#include "collective/multicast/multicast_receive.h"
#include "collective/multicast/multicast_receiver.h"
#include "collective/multicast/multicast_root.h"
#include "collective/node_layout.h"
#include "communicator/group.h"

namespace hawser {

class MulticastEngine;
class MulticastListener;
struct MulticastListening;

class MulticastGroup {
 public:
  MulticastGroup(std::shared_ptr<MulticastEngine> engine, const MulticastKey& key, Ref<Group> group, int rank,
                 std::unique_ptr<NodeLayout> nodes);
  ~MulticastGroup();
  MulticastGroup(const MulticastGroup&) = delete;
  MulticastGroup& operator=(const MulticastGroup&) = delete;

  const MulticastKey& key() const { return key_; }
  const NodeLayout& nodes() const { return *nodes_; }

  // Roots. The decision for one broadcast; then the same calls as MulticastRoot's.
  bool chooses_multicast();
  void begin(MulticastSend& send) { root_->begin(send); }
  void withdraw(MulticastSend& send) { root_->withdraw(send); }
  // Leaders of other nodes than the root's: a broadcast begins, and is over here, whichever way it came. One
  // that is not expected at first is from expect() on.
  void begin(MulticastReceive& receive);
  void expect(MulticastReceive& receive);
  void end(MulticastReceive& receive);
  // Operations of which all leaders are roots: how they go, and that this leader is to be told to all others.
  MulticastAgreement& agreement() { return agreement_; }
  void introduce();
  // The others of those nodes, up to MulticastListener::most_bytes: a broadcast begins that comes from
  // `parent` by message, or through the node's area where there is none, and perhaps sooner by packets; and
  // is over here.
  void begin(MulticastListening& listening, std::optional<ProcessIndex> parent);
  void end(MulticastListening& listening);
  // Data that are still to come within the node and will not be looked at.
  void count_late_messages(int change) { late_messages_ += change; }

  // For the engine.
  void on_packet(const MulticastHeader& header, std::span<const std::byte> bytes, MulticastReceiver::Way way);
  // False: it makes no sense.
  bool on_status(int rank, const LeaderStatus& status);
  bool advance(Nanoseconds now);
  Nanoseconds due() const;
  bool wants_room() const;
  const Ref<Group>& members() const { return group_; }

 private:
  struct Held {
    MulticastHeader header;
    std::vector<std::byte> bytes;
    bool taken = false;
  };
  struct Source {
    explicit Source(int number) : machine(number) {}
    MulticastReceiver machine;
    std::vector<Held> held;  // by packet; made when first needed
  };
  bool leads() const { return nodes_->place == 0; }
  Source& source(int root);
  MulticastReceive* find(int root, std::int32_t tag);
  void join(Multicast::Member member);
  bool tell(int root, Source& source);

  std::shared_ptr<MulticastEngine> keeps_engine_;
  MulticastEngine& engine_;
  MulticastKey key_;
  Ref<Group> group_;
  int rank_;
  std::unique_ptr<NodeLayout> nodes_;
  std::unique_ptr<MulticastRoot> root_;  // of this process
  std::map<int, Source> sources_;        // by rank
  IntrusiveList<MulticastReceive, &MulticastReceive::link> receives_;
  std::unique_ptr<MulticastListener> listener_;  // null: this process leads its node
  MulticastAgreement agreement_;
  int late_messages_ = 0;
  int broadcasts_ = 0;  // until it joins
  bool joined_ = false, receives_packets_ = false;
  bool wants_room_ = false;
};

}  // namespace hawser
