#include "os/shared_block.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace hawser {
namespace {

TEST(SharedBlock, IsZeroAndTheSameMemoryForWhoeverMapsIt) {
  auto block = SharedBlock::make(5000);
  ASSERT_TRUE(block) << block.error().text;
  ASSERT_GE(block.value().name().bytes, 5000);
  std::byte* const own = block.value().mapping().data();
  for (int i = 0; i < 5000; ++i) ASSERT_EQ(own[i], std::byte{0});
  auto other = map_block(block.value().name());
  ASSERT_TRUE(other) << other.error().text;
  ASSERT_NE(other.value().data(), own);
  other.value().data()[4999] = std::byte{42};
  EXPECT_EQ(own[4999], std::byte{42});
  block.value().close();
  EXPECT_FALSE(map_block(block.value().name()));
}

TEST(SharedBlock, NothingIsMadeForNoBytes) {
  auto block = SharedBlock::make(0);
  ASSERT_TRUE(block);
  EXPECT_EQ(block.value().name().bytes, 0);
  EXPECT_EQ(block.value().mapping().data(), nullptr);
  EXPECT_FALSE(SharedBlock::make(-1));
  EXPECT_FALSE(SharedBlock::make(INT64_MAX));
}

TEST(SharedBlock, ForeignNamesAreRefused) {
  auto block = SharedBlock::make(100);
  ASSERT_TRUE(block);
  BlockName name = block.value().name();
  name.bytes *= 2;
  EXPECT_FALSE(map_block(name));
  name = block.value().name();
  ++name.inode;
  EXPECT_FALSE(map_block(name));
  name = block.value().name();
  name.fd = 0x7ffffff;
  EXPECT_FALSE(map_block(name));
}

TEST(SharedBlock, IsPassedToWhoMayNotLookIntoTheMaker) {
  auto block = SharedBlock::make(100);
  ASSERT_TRUE(block);
  const auto listener = block.value().listen();
  ASSERT_TRUE(listener);
  // In one thread, so nobody waits.
  const auto maker = reach_block(listener.value());
  ASSERT_TRUE(maker);
  ASSERT_TRUE(block.value().pass(1));
  auto other = take_block(block.value().name(), listener.value(), maker.value());
  ASSERT_TRUE(other) << other.error().text;
  other.value().data()[7] = std::byte{9};
  EXPECT_EQ(block.value().mapping().data()[7], std::byte{9});
}

TEST(SharedBlock, OutlivesItsMakerAsLongAsItIsMapped) {
  int pipes[2][2];
  ASSERT_EQ(pipe(pipes[0]) | pipe(pipes[1]), 0);
  const pid_t child = fork();
  if (child == 0) {
    auto block = SharedBlock::make(10);
    block.value().mapping().data()[3] = std::byte{77};
    const BlockName name = block.value().name();
    char byte = 0;
    const bool told =
        write(pipes[0][1], &name, sizeof name) == sizeof name && read(pipes[1][0], &byte, 1) == 1;
    _exit(told ? 0 : 1);
  }
  BlockName name;
  ASSERT_EQ(read(pipes[0][0], &name, sizeof name), static_cast<ssize_t>(sizeof name));
  auto mapped = map_block(name);
  ASSERT_EQ(write(pipes[1][1], "x", 1), 1);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  ASSERT_TRUE(mapped) << mapped.error().text;
  EXPECT_EQ(mapped.value().data()[3], std::byte{77});
}

}  // namespace
}  // namespace hawser
