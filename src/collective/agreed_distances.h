// AgreedDistances: how far rails are, as the ranks of a communicator have agreed. Each finds out for itself,
// while messages pass; which algorithm is chosen must not depend on that. So now and then the ranks tell each
// other, in a blocking operation, which all begin in the same order: after 64 of them, for fewer messages
// tell nothing of rails, then after twice as many each time, and at least once in 8192.
#pragma once

#include <algorithm>
#include <cstdint>

#include "channel/channel_set.h"
#include "collective/operation.h"

namespace hawser {

class AgreedDistances {
 public:
  // A blocking operation begins; true: ranks are to agree before it.
  bool due() { return --left_ == 0; }
  // Also where ranks agree for another reason, which changes nothing of when they are to do so.
  void agree(const RailDistances& distances) {
    agreed_ = distances;
    if (left_ > 0) return;
    between_ = std::min(2 * between_, most_between);
    left_ = between_;
  }
  const RailDistances& agreed() const { return agreed_; }

 private:
  static constexpr std::int32_t first = 64, most_between = 8192;  // operations
  RailDistances agreed_;
  std::int32_t between_ = first, left_ = first;
};

// What ranks tell each other.
struct AgreedFacts {
  DistancesSeen seen;
  BlockUse blocks;
  RootBlockUse gathered, scattered;  // of gatherv, and of scatterv
};
// `facts` live until the operation ends.
Task agree_on(Operation& operation, AgreedFacts& facts);

// What ranks agree on later: what blocks an operation has, which was planned.
void note_blocks(Operation& operation);

}  // namespace hawser
