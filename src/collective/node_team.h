// NodeTeam: the ranks of one communicator of several nodes that share a node, for the node's part of blocking
// operations. Their first rank chooses an area when they first meet, and tells the others by message.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "collective/shared/background_queue.h"
#include "communicator/communicator.h"

namespace hawser {

struct NodeTeam {
  // `places`: of the ranks among the node's processes; `own`: which of them this one is.
  NodeTeam(const Communicator& communicator, std::vector<int> places, int own)
      : communicator(communicator), places(std::move(places)), own(own) {}

  const Communicator& communicator;
  const std::vector<int> places;
  const int own;
  bool agreed = false;  // on the area
  int area = -1;
  std::unique_ptr<BackgroundQueue> in_node;  // null: there is no area
};

}  // namespace hawser
