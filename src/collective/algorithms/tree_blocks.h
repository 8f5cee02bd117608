// Trees whose ranks are counted from the root on. TreeBlocks: how many bytes a run of blocks has in one.
#pragma once

#include "collective/call.h"

namespace hawser::algorithms {

// Who passes on more than this to a subtree waits before it serves the next, smaller one. At once, they would
// share the link, and the largest subtree would get its data as late as the smallest. With less data it is
// the messages that take the time, not the link.
inline constexpr std::int64_t most_at_once = 32 * 1024;

struct TreeBlocks {
  const Blocks& blocks;
  int root;
  int ranks;

  // Of `count` blocks from that of the relative rank `first` on.
  std::int64_t bytes(int first, int count) const {
    if (blocks.sizes == nullptr) return count * blocks.size;
    std::int64_t sum = 0;
    for (int i = first; i < first + count; ++i) sum += blocks.sizes[(root + i) % ranks];
    return sum;
  }
};

}  // namespace hawser::algorithms
