#include "collective/slot_use.h"

#include <gtest/gtest.h>

namespace hawser {
namespace {

constexpr int ranks = 8;
constexpr BlockUse dense{8, ranks * 7}, sparse{8, ranks}, with_long{4096, ranks * 7};

TEST(SlotUse, SlotsHaveRoomForWhatRanksAgreedOn) {
  SlotUse use;
  EXPECT_EQ(use.slots(), Slots{});
  use.agree({40, ranks * 7}, ranks);
  EXPECT_EQ(use.slots(), (Slots{64, 7}));
  use.agree(with_long, ranks);
  EXPECT_EQ(use.slots(), Slots{});
}

TEST(SlotUse, RanksWithoutBlocksAgreeOnNone) {
  SlotUse use;
  use.agree({}, ranks);
  EXPECT_EQ(use.slots().partners, 0);
}

TEST(SlotUse, RanksLeaveSlotsWhenBlocksDoNotFitThem) {
  for (const BlockUse& unfit : {sparse, with_long}) {
    SlotUse use;
    use.agree(dense, ranks);
    int calls = 0;
    for (; use.slots().partners > 0; ++calls) use.note_all(unfit, ranks);
    EXPECT_EQ(calls, 3);
  }
}

TEST(SlotUse, FewThatDoNotFitChangeNothing) {
  SlotUse use;
  use.agree(dense, ranks);
  for (int call = 0; call < 1000; ++call) use.note_all(call % 20 == 0 ? with_long : dense, ranks);
  EXPECT_GT(use.slots().partners, 0);
}

// Operations with blocks like these at their roots, and then the ranks agree.
void agree_after(RootSlotUse& use, int operations, const BlockUse& blocks) {
  for (int i = 0; i < operations; ++i) {
    use.begin();
    use.note(blocks);
  }
  use.agree(use.seen());
}

TEST(RootSlotUse, SlotsHaveRoomForWhatRootsSaw) {
  RootSlotUse use;
  EXPECT_EQ(use.slots(), Slots{});
  agree_after(use, 20, {40, 7});
  EXPECT_EQ(use.slots(), (Slots{64, 7}));
  agree_after(use, 20, {100, 1});
  EXPECT_EQ(use.slots(), (Slots{128, 1}));
}

TEST(RootSlotUse, RanksThatHadNoOperationLeaveThingsAsTheyAre) {
  RootSlotUse use;
  agree_after(use, 20, {40, 7});
  use.agree(RootBlockUse{});
  EXPECT_EQ(use.slots(), (Slots{64, 7}));
}

TEST(RootSlotUse, FewOperationsMayHaveLongBlocks) {
  for (const int with_long : {1, 3, 6}) {
    RootSlotUse use;
    for (int i = 0; i < with_long; ++i) {
      use.begin();
      use.note({1 << 20, 7});
    }
    agree_after(use, 40, {40, 7});
    EXPECT_EQ(use.slots().room == 64 && use.slots().partners == 7, with_long < 6);
  }
}

TEST(RootSlotUse, WhatSeveralRootsSawCountsTogether) {
  RootSlotUse one, other;
  for (int i = 0; i < 20; ++i) {
    one.begin();
    other.begin();
    (i % 2 == 0 ? one : other).note({i % 2 == 0 ? 8 : 30, 7});
  }
  one.agree(one.seen().joined(other.seen()));
  EXPECT_EQ(one.slots(), (Slots{32, 7}));
}

TEST(RootSlotUse, RanksThatHearOfUnfitOnesLeaveSlots) {
  RootSlotUse use;
  agree_after(use, 20, {40, 7});
  EXPECT_FALSE(use.unfit_for({64, 4}));
  EXPECT_TRUE(use.unfit_for({65, 7}));
  EXPECT_TRUE(use.unfit_for({64, 3}));
  int calls = 0;
  for (; use.slots().partners > 0; ++calls) use.note_slots(true);
  EXPECT_EQ(calls, 3);
  EXPECT_FALSE(use.due());
}

TEST(RootSlotUse, RanksAgreeAgainAfterMoreAndMoreOperationsBySlots) {
  RootSlotUse use;
  const auto operations_until_due = [&use] {
    int by_slots = 0;
    for (; !use.due(); ++by_slots) use.note_slots(false);
    return by_slots;
  };
  agree_after(use, 20, {40, 7});
  const int first = operations_until_due();
  agree_after(use, first, {40, 7});
  EXPECT_EQ(operations_until_due(), 2 * first);
  agree_after(use, 2 * first, {200, 7});
  EXPECT_EQ(operations_until_due(), first);
}

}  // namespace
}  // namespace hawser
