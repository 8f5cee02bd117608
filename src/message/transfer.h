// Copies between byte sequences: the last step of every message that does not cross a channel by itself.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/byte_sequence.h"
#include "base/copy_memory.h"

namespace hawser {

// memcpy for the sizes of small messages without a call; overlapping moves of a power of two cover each size.
inline void copy_bytes(std::byte* to, const std::byte* from, std::int64_t bytes) {
  const auto n = static_cast<std::size_t>(bytes);
  if (n > 16) [[unlikely]] {
    copy_memory(to, from, n);
  } else if (n >= 8) {
    std::uint64_t first, last;
    std::memcpy(&first, from, 8);
    std::memcpy(&last, from + n - 8, 8);
    std::memcpy(to, &first, 8);
    std::memcpy(to + n - 8, &last, 8);
  } else if (n >= 4) {
    std::uint32_t first, last;
    std::memcpy(&first, from, 4);
    std::memcpy(&last, from + n - 4, 4);
    std::memcpy(to, &first, 4);
    std::memcpy(to + n - 4, &last, 4);
  } else {
    for (std::size_t i = 0; i < n; ++i) to[i] = from[i];
  }
}

// The first min(bytes, to.size) of `bytes` bytes in one piece.
inline void copy_into(const ByteSequence& to, const std::byte* from, std::int64_t bytes) {
  const std::int64_t n = std::min(bytes, to.size);
  if (to.contiguous()) [[likely]]
    copy_bytes(to.data, from, n);
  else if (n != 0)
    to.packer->unpack(0, from, n);
}

inline void copy_from(std::byte* to, const ByteSequence& from) {
  if (from.contiguous())
    copy_bytes(to, from.data, from.size);
  else if (from.size != 0)
    from.packer->pack(0, to, from.size);
}

// As much as fits; through a small buffer where neither side is in one piece.
void copy_between(const ByteSequence& to, const ByteSequence& from);

// The first `bytes` bytes.
inline ByteSequence front_of(ByteSequence sequence, std::int64_t bytes) {
  sequence.size = std::min(sequence.size, bytes);
  return sequence;
}

}  // namespace hawser
