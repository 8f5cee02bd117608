// NodeLoad: whether the processes of this node outnumber the cores they may run on. Then whoever waits must
// give its core away at once instead of polling. Each process may be bound to cores of its own, or all of
// them to a few, so each tells the others in its block where it may run.
#pragma once

#include "channel/shared_segment.h"

namespace hawser {

class NodeLoad {
 public:
  NodeLoad(const SharedSegment& segment, std::int32_t self) : segment_(segment), self_(self) {}

  bool crowded() {
    if (!known_) [[unlikely]]
      evaluate();
    return crowded_;
  }

 private:
  void evaluate();

  SharedSegment segment_;
  std::int32_t self_;
  int online_cpus_ = 0;  // asked once: the answer comes from a file
  bool known_ = false;   // everybody has told
  bool crowded_ = false;
};

}  // namespace hawser
