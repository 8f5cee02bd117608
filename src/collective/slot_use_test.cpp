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

}  // namespace
}  // namespace hawser
