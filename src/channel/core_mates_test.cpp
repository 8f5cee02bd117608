#include "channel/core_mates.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <limits>

#include "channel/channel_test_support.h"

namespace hawser {
namespace {

using Word = std::atomic<std::uint32_t>;

// Three processes of a node, of which the first two run on one core.
class CoreMatesTest : public testing::Test {
 protected:
  CoreMatesTest() {
    sched_getaffinity(0, sizeof allowed, &allowed);
    cpu_set_t here;
    CPU_ZERO(&here);
    CPU_SET(static_cast<std::size_t>(current_cpu()), &here);
    sched_setaffinity(0, sizeof here, &here);
    mate.may_use_core();
    segment.block(2).core = current_cpu() + 2;
  }
  ~CoreMatesTest() override { sched_setaffinity(0, sizeof allowed, &allowed); }

  static SharedSegment make_segment() {
    const auto layout = SegmentLayout::plan(3, Knobs());
    return SharedSegment::map(make_memory_file("hawser-test").value().get(), layout).value();
  }

  cpu_set_t allowed;
  SharedSegment segment = make_segment();
  CoreMates own{segment, 0}, mate{segment, 1};
  Word& word = *reinterpret_cast<Word*>(segment.area(0, 0));
  Word& other_word = *reinterpret_cast<Word*>(segment.area(1, 0));
};

TEST_F(CoreMatesTest, WhoSaysNothingMayUseTheCore) { EXPECT_TRUE(own.may_use_core()); }

TEST_F(CoreMatesTest, WhoWaitsMayUseItOnceWhatItWaitsForIsThere) {
  const CoreMates::Wait wait(&mate, word, 5, 2);
  EXPECT_FALSE(own.may_use_core());
  word = 4;
  EXPECT_FALSE(own.may_use_core());
  word = 5;
  EXPECT_TRUE(own.may_use_core());
  word = 6;
  EXPECT_TRUE(own.may_use_core()) << "beyond";
}

TEST_F(CoreMatesTest, NumbersWrap) {
  const CoreMates::Wait wait(&mate, word, 3, 2);
  word = std::numeric_limits<std::uint32_t>::max();
  EXPECT_FALSE(own.may_use_core());
  word = 4;
  EXPECT_TRUE(own.may_use_core());
}

TEST_F(CoreMatesTest, AfterTheWaitItMayUseItAgain) {
  { const CoreMates::Wait wait(&mate, word, 5, 2); }
  EXPECT_TRUE(own.may_use_core());
}

TEST_F(CoreMatesTest, WhoIsWaitedForGetsTheCoreAtOnce) {
  const CoreMates::Wait wait(&mate, word, 5, 2);
  ASSERT_FALSE(own.may_use_core());
  EXPECT_TRUE(own.on_this_core(1));
  EXPECT_FALSE(own.on_this_core(2));
  {
    const CoreMates::Wait for_the_other_core(&own, other_word, 1, 2);
    EXPECT_FALSE(own.may_use_core());
  }
  const CoreMates::Wait for_the_mate(&own, other_word, 1, 1);
  EXPECT_TRUE(own.may_use_core());
}

TEST_F(CoreMatesTest, WhoHasTheCoreAloneYieldsToStrangers) {
  CoreMates alone(segment, 2);
  segment.block(0).core = segment.block(1).core = current_cpu() + 2;
  EXPECT_TRUE(alone.may_use_core());
}

TEST(LessUsedCore, OneOfManyOnACoreGoesWhereTheFewestAre) {
  CpuSet usable;
  usable.words[0] = 0b1111;
  EXPECT_EQ(CoreMates::less_used_core({7, 1, 2}, 0, usable), 3) << "which nobody uses";
  EXPECT_EQ(CoreMates::less_used_core({3, 1, 2, 2}, 0, usable), 1);
  EXPECT_EQ(CoreMates::less_used_core({2, 1, 2, 2}, 0, usable), -1) << "it would have as many there";
  EXPECT_EQ(CoreMates::less_used_core({2, 7, 2, 3}, 3, usable), -1);
  usable.words[0] = 0b1001;
  EXPECT_EQ(CoreMates::less_used_core({9, 1, 0, 8}, 0, usable), -1) << "it may not use the others";
}

TEST_F(CoreMatesTest, WhatAnotherProcessSaysMayBeWrong) {
  Awaited& said = segment.block(1).awaited;
  ASSERT_TRUE(own.may_use_core());
  said.value = 1000;
  const std::int64_t end = segment.layout().total_bytes;
  for (const std::int64_t offset :
       {std::int64_t{-4}, std::int64_t{6}, end, end - 2, std::numeric_limits<std::int64_t>::max() - 3,
        std::numeric_limits<std::int64_t>::min()}) {
    said.offset = offset;
    EXPECT_TRUE(own.may_use_core()) << offset;
  }
  said.offset = end - 4;
  EXPECT_FALSE(own.may_use_core()) << "a word of the segment";
}

}  // namespace
}  // namespace hawser
