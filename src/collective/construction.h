// The making of communicators (MPI-5.0 section 7.4). Rank 0 of the new communicator chooses its context id
// and the others are told, in one broadcast; nothing else needs agreement (communicator/context_ids.h).
//
// Only the structure is made here: attributes, error handlers and hints are copied by the caller.
#pragma once

#include "collective/engine.h"
#include "communicator/communicator.h"

namespace hawser {

Result<Ref<Communicator>> duplicate(CollectiveEngine& engine, Communicator& parent);
// The communicator is given at once and usable when the request is complete.
Ref<Communicator> start_duplicate(CollectiveEngine& engine, Communicator& parent, Request*& request);
// Intracommunicators only, from here on. Null for `color` undefined.
Result<Ref<Communicator>> split(CollectiveEngine& engine, Communicator& parent, int color, int key);
// Over a subgroup of the parent: called by all its ranks; null for those outside. Different ranks may
// give different groups if they are disjoint.
Result<Ref<Communicator>> create(CollectiveEngine& engine, Communicator& parent, const Ref<Group>& group);
// The same, called by the ranks of the group alone; `tag` tells simultaneous calls apart.
Result<Ref<Communicator>> create_from_group(CollectiveEngine& engine, Communicator& parent,
                                            const Ref<Group>& group, int tag);

// --- Intercommunicators (intercommunicators.cpp)

struct Leaders {
  int local;           // rank in the local communicator
  Communicator* peer;  // significant at the local leader
  int remote;          // rank in peer; significant at the local leader
};
Result<Ref<Communicator>> connect_groups(CollectiveEngine& engine, Communicator& local,
                                         const Leaders& leaders, int tag);
Result<Ref<Communicator>> merge(CollectiveEngine& engine, Communicator& inter, bool high);
Result<Ref<Communicator>> duplicate_inter(CollectiveEngine& engine, Communicator& parent);
Ref<Communicator> start_duplicate_inter(CollectiveEngine& engine, Communicator& parent, Request*& request);
// Null also for a color that only one of the groups has.
Result<Ref<Communicator>> split_inter(CollectiveEngine& engine, Communicator& parent, int color, int key);
// `group` is of our own group's processes; null unless both groups give somebody.
Result<Ref<Communicator>> create_inter(CollectiveEngine& engine, Communicator& parent, const Group& group);

// What the above share: an intracommunicator over a group, agreed upon with messages of this context and tag.
// No two groups that overlap may use the same ones.
Result<Ref<Communicator>> make_over(CollectiveEngine& engine, const Ref<Group>& group, int rank,
                                    std::uint32_t context, std::int32_t tag);
// The same where they may, one after another: processes go by their ranks in `parent`, which contains the
// group.
Result<Ref<Communicator>> make_within(CollectiveEngine& engine, const Communicator& parent,
                                      const Ref<Group>& group, std::uint32_t context, std::int32_t tag);
// Only the choice of a context id.
Result<std::uint32_t> agree_on_context(CollectiveEngine& engine, const Participants& participants);

}  // namespace hawser
