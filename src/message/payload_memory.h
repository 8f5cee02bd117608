// PayloadMemory: memory for the bytes of messages. Keeps blocks for the next ones of nearly the same size,
// because malloc() gives the end of its heap back to the system, and each new page costs more than what is
// copied into it.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include "base/out_of_memory.h"

namespace hawser {

class PayloadMemory {
 public:
  static constexpr std::int64_t least = 64;  // smaller blocks are as large
  static constexpr std::int64_t largest_kept = 64 << 10;
  static constexpr std::int64_t most_kept = 8 << 20;  // bytes, of all blocks together

  PayloadMemory() = default;
  PayloadMemory(const PayloadMemory&) = delete;
  PayloadMemory& operator=(const PayloadMemory&) = delete;
  ~PayloadMemory() {
    for (Block* block : kept_blocks_)
      while (block != nullptr) delete[] reinterpret_cast<std::byte*>(std::exchange(block, block->next));
  }

  // Throws OutOfMemory.
  std::byte* take(std::int64_t bytes) {
    const Kind kind = kind_of(bytes);
    if (kind.bytes <= largest_kept && kept_blocks_[kind.number] != nullptr) {
      Block* const block = kept_blocks_[kind.number];
      kept_blocks_[kind.number] = block->next;
      kept_ -= kind.bytes;
      return reinterpret_cast<std::byte*>(block);
    }
    auto* const place = new (std::nothrow) std::byte[static_cast<std::size_t>(kind.bytes)];
    if (place == nullptr) throw out_of_memory(bytes);
    return place;
  }
  // With the size that it was taken for.
  void give_back(std::byte* place, std::int64_t bytes) {
    const Kind kind = kind_of(bytes);
    if (kind.bytes > largest_kept || kept_ + kind.bytes > most_kept) {
      delete[] place;
      return;
    }
    kept_blocks_[kind.number] = new (place) Block{kept_blocks_[kind.number]};
    kept_ += kind.bytes;
  }
  std::int64_t kept() const { return kept_; }
  static OutOfMemory out_of_memory(std::int64_t bytes) {
    return {bytes, "a message that no receive has asked for"};
  }

 private:
  struct Block {
    Block* next;
  };
  struct Kind {
    std::size_t number;
    std::int64_t bytes;  // of all blocks of this kind
  };
  // Eight for each doubling, so a block is at most an eighth too large.
  static constexpr int first_width = std::bit_width(std::uint64_t{least - 1});
  static constexpr int last_width = std::bit_width(std::uint64_t{largest_kept - 1});
  static Kind kind_of(std::int64_t wanted) {
    const auto last = static_cast<std::uint64_t>(wanted > least ? wanted - 1 : least - 1);
    const int width = std::bit_width(last), shift = width - 4;
    const std::uint64_t steps = (last >> shift) + 1;  // 9 to 16
    return {static_cast<std::size_t>(8 * (width - first_width)) + steps - 9,
            static_cast<std::int64_t>(steps << shift)};
  }

  std::array<Block*, 8 * (last_width - first_width + 1)> kept_blocks_ = {};
  std::int64_t kept_ = 0;
};

}  // namespace hawser
