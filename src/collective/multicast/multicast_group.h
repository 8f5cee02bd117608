// MulticastGroup: broadcasts by multicast on one communicator of several nodes. Every process may be a root;
// the first rank of each node is its leader, which alone is attached, and takes what comes from the roots on
// other nodes.
//
// The first broadcasts of each root go by other ways: then its leaders tell it whether they are attached.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "base/intrusive_list.h"
#include "collective/multicast/multicast_receiver.h"
#include "collective/multicast/multicast_root.h"
#include "collective/node_layout.h"
#include "communicator/group.h"

namespace hawser {

class MulticastEngine;

// A broadcast that is to come in, perhaps by other ways.
struct MulticastReceive {
  std::int32_t root = 0;  // rank
  std::int32_t tag = 0;
  std::byte* into = nullptr;
  std::int64_t bytes = 0;
  std::int64_t arrived = 0;
  bool differs = false;  // the root sends another amount
  bool done = false;     // all of it came by multicast
  ListLink link;
};

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
  // Leaders of other nodes than the root's: a broadcast begins, and is over here, whichever way it came.
  void begin(MulticastReceive& receive);
  void end(MulticastReceive& receive);

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
  static void place(MulticastReceive& receive, const MulticastHeader& header,
                    std::span<const std::byte> bytes);
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
  int broadcasts_ = 0;  // until it joins
  bool joined_ = false, receives_packets_ = false;
  bool wants_room_ = false;
};

}  // namespace hawser
