#include "collective/frame_pool.h"

#include <new>

#include "base/assert.h"

namespace hawser {

struct alignas(16) FramePool::Block {
  union {
    FramePool* pool;  // in use
    Block* next;      // free
  };
  std::size_t size_class;  // classes: too large to be kept
};

FramePool::~FramePool() {
  for (Block* block : free_) {
    while (block != nullptr) {
      Block* next = block->next;
      ::operator delete(block);
      block = next;
    }
  }
}

void* FramePool::take(std::size_t size) {
  const std::size_t size_class = size / step;
  Block* block = nullptr;
  if (size_class < classes && free_[size_class] != nullptr) {
    block = free_[size_class];
    free_[size_class] = block->next;
  } else {
    const std::size_t capacity = size_class < classes ? (size_class + 1) * step : size;
    block = static_cast<Block*>(::operator new(sizeof(Block) + capacity));
    block->size_class = size_class < classes ? size_class : classes;
  }
  block->pool = this;
  return block + 1;
}

void FramePool::give_back(void* frame) noexcept {
  Block* block = static_cast<Block*>(frame) - 1;
  if (block->size_class == classes) {
    ::operator delete(block);
    return;
  }
  FramePool& pool = *block->pool;
  block->next = pool.free_[block->size_class];
  pool.free_[block->size_class] = block;
}

}  // namespace hawser
