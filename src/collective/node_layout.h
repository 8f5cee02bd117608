// NodeLayout: which ranks of a communicator share a node, for algorithms that have a level within nodes and
// one between them. Its first rank stands for a node between them: its leader.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "communicator/group.h"

namespace hawser {

struct NodeLayout {
  std::vector<int> node_of;  // each rank's; nodes are numbered in the order of their first ranks
  std::vector<int> leaders;  // each node's first rank
  std::vector<int> mine;     // the ranks of this process's node, ascending
  std::vector<int> sizes;    // ranks of each node
  int own_node = 0;
  int place = 0;         // of this rank in `mine`
  int most = 1;          // ranks on the fullest node
  bool in_order = true;  // the ranks of every node follow each other

  // Null unless there are several nodes and one of them has several ranks. `node_of_process`: may be empty.
  static std::unique_ptr<NodeLayout> of(const Group& group, int rank,
                                        std::span<const std::int32_t> node_of_process);

  int nodes() const { return static_cast<int>(leaders.size()); }
};

}  // namespace hawser
