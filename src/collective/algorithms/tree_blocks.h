// Trees whose ranks are counted from the root on. TreeBlocks: how many bytes a run of blocks has in one.
#pragma once

#include <cstdint>

#include "collective/call.h"
#include "collective/engine.h"
#include "collective/node_layout.h"

namespace hawser::algorithms {

// Who passes on more than this to a subtree waits before it serves the next, smaller one. At once, they would
// share the link, and the largest subtree would get its data as late as the smallest; or last, if it is
// behind another switch and so asks last: then bytes matter from where they take as long as to ask. With less
// data it is the messages that take the time, not the link.
inline std::int64_t most_at_once(Operation& operation, int child) {
  constexpr std::int64_t most = 32 * 1024;
  const TransferCosts& costs = operation.engine().choice().model();
  if (!operation.is_far(child) || operation.nodes()->nodes() <= costs.switch_nodes) return most;
  const double asked = costs.between_rendezvous / costs.between_per_byte;
  return asked < most ? static_cast<std::int64_t>(asked) : most;
}

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
