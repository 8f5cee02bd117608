// What the operations that move data have in common. Private to shared/.
#pragma once

#include <algorithm>
#include <cstring>

#include "collective/place.h"
#include "collective/shared/collectives.h"

namespace hawser {

// The size of the pieces in which `bytes` go through room for `most`, all about alike.
inline std::int64_t even_piece(std::int64_t bytes, std::int64_t most) {
  const std::int64_t pieces = (bytes + most - 1) / most;
  return std::min(most, ((bytes + pieces - 1) / pieces + 63) & ~std::int64_t{63});
}

inline ByteView view(const CallSide& side, std::int64_t first_block, std::int64_t blocks) {
  const auto* base = static_cast<const std::byte*>(side.buffer);
  return {base + first_block * side.count * side.type->extent, blocks * side.count, *side.type};
}

inline ByteView view(const Place& place) { return {place.buffer, place.count, *place.type}; }

// Copies this rank's block from the one side to the other.
inline void copy_own(const CallSide& from, std::int64_t from_block, const CallSide& to,
                     std::int64_t to_block) {
  const auto* source =
      static_cast<const std::byte*>(from.buffer) + from_block * from.count * from.type->extent;
  auto* target =
      static_cast<std::byte*>(const_cast<void*>(to.buffer)) + to_block * to.count * to.type->extent;
  const std::int64_t bytes = to.count * to.type->size;
  if (bytes == 0) return;
  if (from.type->contiguous && to.type->contiguous) {
    std::memmove(target + to.type->true_lower_bound, source + from.type->true_lower_bound,
                 static_cast<std::size_t>(bytes));
  } else {
    copy_typed(source, from.count, *from.type, target, to.count, *to.type);
  }
}

}  // namespace hawser
