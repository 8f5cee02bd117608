// ScratchPool: memory that operations need until their end, kept for those that follow: of fresh memory the
// kernel clears every page when it is first touched, which takes longer than to reduce what it holds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace hawser {

class ScratchPool {
 public:
  struct Block {
    std::byte* data;  // aligned to a cache line
    std::int64_t bytes;
  };
  // Blocks that nobody needs are kept up to so many bytes in all.
  static constexpr std::int64_t most_kept = 16 << 20;

  ScratchPool() = default;
  ScratchPool(const ScratchPool&) = delete;
  ScratchPool& operator=(const ScratchPool&) = delete;
  ~ScratchPool();

  // At least so many bytes, and never none.
  Block take(std::int64_t bytes);
  void give_back(Block block);

 private:
  std::vector<Block> kept_;  // the one that was given back last is the last
  std::int64_t kept_bytes_ = 0;
};

}  // namespace hawser
