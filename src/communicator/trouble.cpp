#include "communicator/trouble.h"

namespace hawser {

bool Trouble::revocable(std::uint32_t context) {
  const std::uint32_t which = context % contexts_per_communicator;
  return which != end_context && which < contexts_in_use;
}

bool Trouble::add_failure(ProcessIndex process) {
  if (!failed_.insert(process).second) return false;
  order_.push_back(process);
  ++version_;
  return true;
}

bool Trouble::add_revoked(std::uint32_t context) {
  if (!revoked_.insert(context).second) return false;
  ++version_;
  return true;
}

bool Trouble::fails(const Group& group, std::size_t acknowledged) const {
  for (std::size_t i = acknowledged; i < order_.size(); ++i)
    if (group.contains(order_[i])) return true;
  return false;
}

Ref<Group> Trouble::failed_of(const Group& group, std::size_t known) const {
  std::set<int> ranks;
  for (std::size_t i = 0; i < known && i < order_.size(); ++i)
    if (const int rank = group.rank_of(order_[i]); rank != undefined) ranks.insert(rank);
  std::vector<ProcessIndex> processes;
  for (const int rank : ranks) processes.push_back(group.process_of(rank));
  return make_counted<Group>(std::move(processes));
}

ErrorClass Trouble::stops(const Group& group, std::uint32_t context) const {
  if (revoked_context(context)) return ErrorClass::revoked;
  return fails(group) ? ErrorClass::proc_failed : ErrorClass::success;
}

}  // namespace hawser
