#include "communicator/reordering/places.h"

#include <algorithm>
#include <numeric>

#include "base/assert.h"

namespace hawser {

Places::Places(std::span<const std::int32_t> paths, int depth)
    : process_of_slot_(paths.size() / static_cast<std::size_t>(depth)) {
  HAWSER_ASSERT(depth > 0 && paths.size() % static_cast<std::size_t>(depth) == 0);
  const auto path = [&](int process) {
    return paths.subspan(static_cast<std::size_t>(process) * static_cast<std::size_t>(depth),
                         static_cast<std::size_t>(depth));
  };
  std::iota(process_of_slot_.begin(), process_of_slot_.end(), 0);
  std::stable_sort(process_of_slot_.begin(), process_of_slot_.end(),
                   [&](int a, int b) { return std::ranges::lexicographical_compare(path(a), path(b)); });
  // How many of the outermost groups a slot shares with the slot before it.
  std::vector<int> shared(process_of_slot_.size(), 0);
  for (std::size_t slot = 1; slot < shared.size(); ++slot) {
    const auto before = path(process_of_slot_[slot - 1]), here = path(process_of_slot_[slot]);
    const auto same = [&](std::size_t level) { return here[level] == before[level] && here[level] >= 0; };
    while (shared[slot] < depth && same(static_cast<std::size_t>(shared[slot]))) ++shared[slot];
  }
  std::size_t groups_before = 1;
  for (int level = 0; level < depth; ++level) {
    std::vector<int> starts, groups;
    for (int slot = 0; slot < size(); ++slot) {
      if (slot == 0 || shared[static_cast<std::size_t>(slot)] <= level) starts.push_back(slot);
      groups.push_back(static_cast<int>(starts.size()) - 1);
    }
    if (starts.size() <= groups_before || starts.size() == process_of_slot_.size()) continue;
    groups_before = starts.size();
    starts.push_back(size());
    starts_.push_back(std::move(starts));
    groups_.push_back(std::move(groups));
  }
}

int Places::group_size(int level) const {
  const std::vector<int>& first = starts(level);
  for (std::size_t group = 1; group + 1 < first.size(); ++group) {
    if (first[group + 1] - first[group] != first[1] - first[0]) return 0;
  }
  return first[1] - first[0];
}

}  // namespace hawser
