// NodeLayout: which ranks of a communicator share a node, for algorithms that have a level within nodes and
// one between them. Its first rank stands for a node between them: its leader.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "channel/process_table.h"
#include "communicator/group.h"

namespace hawser {

struct NodeLayout {
  std::vector<int> node_of;  // each rank's; nodes are numbered in the order of their first ranks
  std::vector<int> leaders;  // each node's first rank
  std::vector<int> mine;     // the ranks of this process's node, ascending
  std::vector<int> sizes;    // ranks of each node
  std::vector<int> by_node;  // all ranks, those of node 0 first, ascending within each node
  std::vector<int> starts;   // where each node's ranks begin in by_node
  int own_node = 0;
  int place = 0;         // of this rank in `mine`
  int most = 1;          // ranks on the fullest node
  bool in_order = true;  // the ranks of every node follow each other
  bool equal = true;     // all nodes have the same number of ranks
  // All nodes with several ranks have areas for these, as far as everybody knows (CollectiveEngine).
  bool teams = false;
  bool lanes = false;  // such that two teams share one
  // Whether ranks of some node share cores. What all ranks agree on before the first persistent operation.
  std::optional<bool> crowded;

  // Null unless there are several nodes. Null, too, if somebody's node is not known.
  static std::unique_ptr<NodeLayout> of(const Group& group, int rank, const ProcessTable& processes);

  int nodes() const { return static_cast<int>(leaders.size()); }
  int size_of(int node) const { return sizes[static_cast<std::size_t>(node)]; }
  // The rank that has this place among the ranks of the node.
  int member(int node, int place_there) const {
    return by_node[static_cast<std::size_t>(starts[static_cast<std::size_t>(node)] + place_there)];
  }
};

}  // namespace hawser
