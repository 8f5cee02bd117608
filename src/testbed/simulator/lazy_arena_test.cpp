#include "testbed/simulator/lazy_arena.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

namespace hawser {
namespace {

bool is_clear(const std::byte* block, std::size_t bytes) {
  return std::all_of(block, block + bytes, [](std::byte each) { return each == std::byte{}; });
}

// How many pages of the range take memory.
std::size_t pages_in_memory(const std::byte* block, std::size_t bytes) {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(block) / page * page;
  const std::uintptr_t end = reinterpret_cast<std::uintptr_t>(block) + bytes;
  std::vector<unsigned char> there((end - begin + page - 1) / page);
  EXPECT_EQ(mincore(reinterpret_cast<void*>(begin), end - begin, there.data()), 0);
  return static_cast<std::size_t>(
      std::count_if(there.begin(), there.end(), [](auto each) { return each & 1; }));
}

class SharedOrNot : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(LazyArena, SharedOrNot, testing::Bool());

TEST_P(SharedOrNot, blocks_are_clear_again_when_they_come_back) {
  LazyArena arena(GetParam());
  for (const std::size_t bytes : {1u, 64u, 5000u, 30'000u, 1'000'000u}) {
    std::byte* const block = arena.take(bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % 64, 0u);
    EXPECT_TRUE(is_clear(block, bytes));
    std::memset(block, 0xff, bytes);
    arena.give_back(block, bytes);
    std::byte* const again = arena.take(bytes);
    EXPECT_EQ(again, block);
    EXPECT_TRUE(is_clear(again, bytes)) << bytes;
  }
}

TEST_P(SharedOrNot, neighbours_keep_what_they_have) {
  LazyArena arena(GetParam());
  std::byte* blocks[3];
  for (std::byte*& each : blocks) std::memset(each = arena.take(30'000), 0xff, 30'000);
  arena.give_back(blocks[1], 30'000);
  for (std::byte* each : {blocks[0], blocks[2]})
    EXPECT_TRUE(std::all_of(each, each + 30'000, [](std::byte byte) { return byte == std::byte{0xff}; }));
}

TEST_P(SharedOrNot, takes_memory_only_where_it_is_written) {
  constexpr std::size_t bytes = 10'000'000;
  LazyArena arena(GetParam());
  std::byte* const block = arena.take(bytes);
  block[0] = block[bytes / 2] = std::byte{1};
  EXPECT_LE(pages_in_memory(block, bytes), 4u);
  std::memset(block, 1, bytes);
  EXPECT_GT(pages_in_memory(block, bytes), bytes / 4096 - 2);
  arena.give_back(block, bytes);
  EXPECT_LE(pages_in_memory(block, bytes), 2u);
}

}  // namespace
}  // namespace hawser
