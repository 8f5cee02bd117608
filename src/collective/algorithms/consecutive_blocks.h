// Whether blocks of any sizes stand one after the other in the order of ranks, as most programs have them.
// Then several are one piece of memory. A rank may ask that for itself: it changes no message.
#pragma once

#include "collective/call.h"

namespace hawser::algorithms {

// Where the first one begins; null: they stand otherwise.
inline std::byte* consecutive_blocks(const Blocks& blocks, int ranks) {
  if (blocks.regular()) return blocks.base;
  std::byte* begin = nullptr;
  std::int64_t start = 0;
  for (int r = 0; r < ranks; ++r) {
    const std::int64_t bytes = blocks.bytes(r);
    if (bytes == 0) continue;
    if (begin == nullptr) begin = blocks.at(r);
    if (blocks.at(r) != begin + start) return nullptr;
    start += bytes;
  }
  return begin;
}

}  // namespace hawser::algorithms
