#include "collective/scratch_pool.h"

#include <new>

namespace hawser {

namespace {

constexpr std::align_val_t alignment{64};

void free_block(ScratchPool::Block block) { ::operator delete(block.data, alignment); }

}  // namespace

ScratchPool::~ScratchPool() {
  for (Block block : kept_) free_block(block);
}

ScratchPool::Block ScratchPool::take(std::int64_t bytes) {
  const std::int64_t rounded = (bytes + 64) & ~std::int64_t{63};
  auto best = kept_.end();
  for (auto block = kept_.begin(); block != kept_.end(); ++block) {
    if (block->bytes >= rounded && (best == kept_.end() || block->bytes <= best->bytes)) best = block;
  }
  if (best == kept_.end())
    return {static_cast<std::byte*>(::operator new(static_cast<std::size_t>(rounded), alignment)), rounded};
  const Block block = *best;
  kept_.erase(best);
  kept_bytes_ -= block.bytes;
  return block;
}

// The oldest make room.
void ScratchPool::give_back(Block block) {
  if (block.bytes > most_kept) {
    free_block(block);
    return;
  }
  auto old = kept_.begin();
  for (; kept_bytes_ + block.bytes > most_kept; ++old) {
    kept_bytes_ -= old->bytes;
    free_block(*old);
  }
  kept_.erase(kept_.begin(), old);
  kept_.push_back(block);
  kept_bytes_ += block.bytes;
}

}  // namespace hawser
