// memcpy of any length. glibc's (2.36) leaves the processor's own copying for a loop where a block is larger
// than the second-level cache, though the former is faster: in pieces, 1 MiB takes 0.86 of the time on an AMD
// EPYC, 2 to 64 MiB 0.75 to 0.97 (doc/performance.md).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace hawser {

inline constexpr std::size_t copied_in_pieces = 1 << 20;

[[gnu::noinline]] inline void copy_in_pieces(std::byte* to, const std::byte* from, std::size_t bytes) {
  constexpr std::size_t piece = 256 << 10;
  for (std::size_t at = 0; at < bytes; at += piece)
    std::memcpy(to + at, from + at, std::min(piece, bytes - at));
}

inline void copy_memory(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (bytes < copied_in_pieces) [[likely]]
    std::memcpy(to, from, bytes);
  else
    copy_in_pieces(to, from, bytes);
}

}  // namespace hawser
