// NodePart: the parts of an operation of several nodes in which the ranks of a node work together.
#pragma once

namespace hawser {

// Data go up to the node's leader, or from all to all; or down from the leader.
enum class NodePart : unsigned char { up, down };

// Which of an operation's parts go through an area.
struct NodeAreas {
  bool up = false, down = false;

  bool of(NodePart part) const { return part == NodePart::up ? up : down; }
};

}  // namespace hawser
