// TreeBlocks: how many bytes a run of blocks has in a tree, whose ranks are counted from the root on.
#pragma once

#include "collective/call.h"

namespace hawser::algorithms {

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
