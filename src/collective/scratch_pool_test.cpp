#include "collective/scratch_pool.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>

namespace hawser {
namespace {

TEST(ScratchPool, GivesAgainWhatFitsBest) {
  ScratchPool pool;
  const auto large = pool.take(1 << 20), small = pool.take(1000);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(small.data) % 64, 0u);
  std::memset(large.data, 1, static_cast<std::size_t>(large.bytes));
  pool.give_back(small);
  pool.give_back(large);
  EXPECT_EQ(pool.take(900).data, small.data);
  const auto next = pool.take(900);
  EXPECT_EQ(next.data, large.data);
  EXPECT_GE(next.bytes, 1 << 20);
  const auto fresh = pool.take(0);
  EXPECT_GT(fresh.bytes, 0);
  for (const auto block : {small, next, fresh}) pool.give_back(block);
}

TEST(ScratchPool, KeepsTheLastUpToALimit) {
  ScratchPool pool;
  constexpr std::int64_t third = ScratchPool::most_kept / 3 - 64;
  ScratchPool::Block blocks[4];
  for (auto& block : blocks) block = pool.take(third);
  pool.give_back(pool.take(ScratchPool::most_kept + 1));  // is not kept, and pushes nobody out
  for (const auto& block : blocks) pool.give_back(block);
  for (int i = 3; i > 0; --i) EXPECT_EQ(pool.take(third).data, blocks[i].data);
  const auto fresh = pool.take(third);
  for (int i = 1; i < 4; ++i) {
    EXPECT_NE(fresh.data, blocks[i].data);
    pool.give_back(blocks[i]);
  }
  pool.give_back(fresh);
}

}  // namespace
}  // namespace hawser
