// NodeTeam: the ranks of one communicator of several nodes that share a node, for the node's part of its
// operations. Their first rank chooses an area when they first meet, and tells the others by message.
//
// Blocking operations come one after the other. Of others several are under way, and a rank comes to the end
// of one before or after it begins the next: the node's leader of an allreduce has to wait for other nodes
// first. So they have two teams of the same ranks, which are used independently: in one data go up to a
// leader, in the other down from one. In each, operations take turns in the order in which the program began
// them, which is the same on all ranks; an operation takes its places in both when it begins.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "collective/operation.h"
#include "collective/shared/background_queue.h"
#include "communicator/communicator.h"

namespace hawser {

// Of non-blocking operations.
struct NodeLanes {
  static constexpr int teams = 2;  // in one area
  explicit NodeLanes(BackgroundRuns& runs) : up(runs), down(runs) {}

  BackgroundQueue& of(NodePart part) { return part == NodePart::up ? up : down; }

  BackgroundQueue up, down;
  bool begun = false;   // an operation sees to it that the ranks agree
  bool agreed = false;  // on the area
  int area = -1;        // none
};

struct NodeTeam {
  // `places`: of the ranks among the node's processes; `own`: which of them this one is.
  NodeTeam(const Communicator& communicator, std::vector<int> places, int own)
      : communicator(communicator), places(std::move(places)), own(own) {}

  const Communicator& communicator;
  const std::vector<int> places;
  const int own;
  bool freed = false;  // the communicator, by the program
  // Of blocking operations.
  bool agreed = false;  // on the area
  int area = -1;
  std::unique_ptr<BackgroundQueue> in_node;  // null: there is no area
  std::unique_ptr<NodeLanes> lanes;          // null: there has been no other operation
};

}  // namespace hawser
