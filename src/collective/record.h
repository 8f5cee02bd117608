// CollectiveRecord: what the engine keeps with a communicator.
#pragma once

#include <cstdint>
#include <memory>

#include "collective/agreed_distances.h"
#include "collective/engine.h"
#include "collective/multicast/multicast_group.h"
#include "collective/node_layout.h"
#include "collective/node_team.h"
#include "collective/shared/background_queue.h"
#include "collective/shared/collectives.h"
#include "collective/shared/persistent_parts.h"

namespace hawser {

class CollectiveRecord final : public CollectiveState {
 public:
  // `area`: the shared area of its rank 0, or -1.
  CollectiveRecord(CollectiveEngine& engine, const Communicator& communicator, int area,
                   std::uint32_t generation);
  // Starts giving the context id back.
  ~CollectiveRecord() override;
  // Leaves the areas, as soon as what was begun there is over.
  void freed() override;

  static CollectiveRecord& of(Communicator& communicator) {
    return static_cast<CollectiveRecord&>(*communicator.collective);
  }

  std::int32_t next_tag() { return static_cast<std::int32_t>(++sequence_ & tag_mask); }
  // Persistent operations may be started in different order on different ranks (section 6.13), so each
  // keeps a tag of its own for life.
  std::int32_t next_persistent_tag() {
    return static_cast<std::int32_t>((++persistent_sequence_ & tag_mask) | (tag_mask + 1));
  }

  // Both groups of an intercommunicator as one, in an order that all ranks know, and our rank in it.
  const Ref<Group>& everyone() const { return everyone_; }
  int rank_among_everyone() const { return rank_; }

  // Of a blocking one on several nodes.
  void use_slots(Operation& operation);
  // A blocking operation begins; true: ranks are to agree before it.
  bool facts_are_due() { return distances.due() || gatherv_slots.due() || scatterv_slots.due(); }

  // What CollectiveEngine::check found at this version of the engine's trouble.
  std::uint64_t checked = 0;
  ErrorClass stopped = ErrorClass::success;
  std::unique_ptr<BackgroundQueue> in_node;  // null: the ranks do not share a node
  // Null: there has been no persistent operation.
  std::unique_ptr<PersistentAreas> persistent;
  std::unique_ptr<NodeLayout> nodes;          // null: there is one, or they are unknown
  std::unique_ptr<NodeTeam> node_team;        // null: there is one node, or this rank is alone on its own
  std::unique_ptr<MulticastGroup> multicast;  // null: there is none, or one node
  AgreedDistances distances;
  SlotUse slots;  // of alltoallv and alltoallw
  RootSlotUse gatherv_slots, scatterv_slots;

 private:
  static constexpr std::uint32_t tag_mask = operation_tags - 1;
  CollectiveEngine& engine_;
  Ref<Group> everyone_;
  int rank_;  // in it
  std::uint32_t context_;
  int area_;
  bool freed_ = false;
  std::uint32_t sequence_ = 0;
  std::uint32_t persistent_sequence_ = 0;
};

}  // namespace hawser
