// FramePool: memory for the frames of coroutines. A collective operation makes one to three frames of a
// few hundred bytes; taking them from lists by size keeps malloc out of the way of small operations.
#pragma once

#include <array>
#include <cstddef>

namespace hawser {

class FramePool {
 public:
  FramePool() = default;
  FramePool(const FramePool&) = delete;
  FramePool& operator=(const FramePool&) = delete;
  ~FramePool();

  void* take(std::size_t size);
  // The frame knows its pool, because a coroutine's operator delete is told nothing else.
  static void give_back(void* frame) noexcept;

 private:
  struct Block;
  static constexpr std::size_t step = 128;
  static constexpr std::size_t classes = 16;
  std::array<Block*, classes> free_{};
};

}  // namespace hawser
