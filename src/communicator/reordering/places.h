// Places: in which groups of a machine the processes are that become the ranks of a communicator: nodes, and
// within them packages, NUMA domains, caches, cores. Immutable; knows no messages.
//
// Processes are in slots, in the order of the machine, so that every group is a range of slots.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace hawser {

class Places {
 public:
  // `paths` holds `depth` numbers for each process: of the groups that contain it, from the outside inwards.
  // A number means something only within the group before it. Negative: not known; then it shares this group,
  // and those within it, with nobody.
  Places(std::span<const std::int32_t> paths, int depth);

  int size() const { return static_cast<int>(process_of_slot_.size()); }
  int process_of(int slot) const { return process_of_slot_[static_cast<std::size_t>(slot)]; }

  // The levels that matter, from the outside inwards: one that divides nothing more than the one outside of
  // it is left out, and so is one where every process is alone, which no order changes. None: all orders are
  // equally good.
  int levels() const { return static_cast<int>(starts_.size()); }
  // The first slot of each group of a level, ascending, and the number of slots at the end.
  const std::vector<int>& starts(int level) const { return starts_[static_cast<std::size_t>(level)]; }
  // The group of each slot, numbered like starts.
  const std::vector<int>& groups(int level) const { return groups_[static_cast<std::size_t>(level)]; }
  // The number of processes in every group of a level, or 0 if they differ.
  int group_size(int level) const;

 private:
  std::vector<int> process_of_slot_;
  std::vector<std::vector<int>> starts_;
  std::vector<std::vector<int>> groups_;
};

}  // namespace hawser
