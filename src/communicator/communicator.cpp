#include "communicator/communicator.h"

#include "message/message_lane.h"

namespace hawser {

Communicator::Communicator(Ref<Group> group, int rank, std::uint32_t context)
    : rank_(rank),
      size_(group->size()),
      context_(context),
      reachable_peers_(size_),
      peers_(group.get()),
      group_(std::move(group)) {
  HAWSER_ASSERT(rank >= 0 && rank < size_);
}

Communicator::Communicator(Ref<Group> group, Ref<Group> remote, int rank, std::uint32_t context,
                           Ref<Communicator> local)
    : rank_(rank),
      size_(group->size()),
      context_(context),
      reachable_peers_(remote->size()),
      peers_(remote.get()),
      group_(std::move(group)),
      remote_(std::move(remote)),
      local_(std::move(local)) {
  HAWSER_ASSERT(rank >= 0 && rank < size_);
}

Communicator::Communicator(Ref<Group> group, int rank) : Communicator(std::move(group), rank, 0) {
  usable_ = false;
  early_ = true;
}

Communicator::Communicator(Ref<Group> group, Ref<Group> remote, int rank, Ref<Communicator> local)
    : Communicator(std::move(group), std::move(remote), rank, 0, std::move(local)) {
  usable_ = false;
  early_ = true;
}

Communicator::~Communicator() = default;

int Communicator::compare(const Communicator& other) const {
  if (this == &other) return comparison::identical;
  if (inter() != other.inter()) return comparison::unequal;
  int result = group_->compare(*other.group_);
  if (inter()) {
    const int remote = remote_->compare(*other.remote_);
    if (remote > result) result = remote;  // the numbers grow with the difference
  }
  return result == comparison::identical ? comparison::congruent : result;
}

void Communicator::put_on_lane(Ref<LaneMember> place) {
  lane_member_ = std::move(place);
  peers_at_once_ = 0;
}

void Communicator::set_context(std::uint32_t context) {
  HAWSER_ASSERT(!usable_);
  context_ = context;
  usable_ = true;
}

}  // namespace hawser
