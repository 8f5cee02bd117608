// NodeLoad: whether the processes of this node outnumber the cores they may run on. Then whoever waits must
// give its core away at once instead of polling. Each process may be bound to cores of its own, or all of
// them to a few, so each tells the others in its block where it may run.
#pragma once

#include <optional>

#include "channel/core_mates.h"
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

  const SharedSegment& segment() const { return segment_; }
  ProcessBlock& own_block() { return segment_.block(self_); }
  // Processes share cores, and all of the job's on this machine are of this node.
  void know_mates();
  // Null: that is not known, or there are too many to be looked at.
  CoreMates* mates() { return mates_ ? &*mates_ : nullptr; }

 private:
  void evaluate();

  SharedSegment segment_;
  std::int32_t self_;
  int online_cpus_ = 0;  // asked once: the answer comes from a file
  bool known_ = false;   // everybody has told
  bool crowded_ = false;
  std::optional<CoreMates> mates_;
};

}  // namespace hawser
