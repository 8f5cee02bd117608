#include "rails/decision/finish_choice.h"

#include <gtest/gtest.h>

namespace hawser {
namespace {

int quiet_reads_until_it_suits(FinishChoice& choice) {
  int reads = 0;
  for (; !choice.suits(); ++reads) choice.on_read(false, false);
  return reads;
}

TEST(FinishChoice, WaitsForSomeReadsDuringWhichNothingIsSent) {
  FinishChoice choice;
  EXPECT_EQ(quiet_reads_until_it_suits(choice), 4);
  for (int i = 0; i < 100; ++i) choice.on_read(false, true);
  EXPECT_TRUE(choice.suits());
}

TEST(FinishChoice, StaysAwayWhereBothSend) {
  FinishChoice choice;
  for (int i = 0; i < 100; ++i) {
    choice.on_read(i % 3 != 0, false);
    EXPECT_FALSE(choice.suits());
  }
  choice.on_read(true, false);
  EXPECT_EQ(quiet_reads_until_it_suits(choice), 4) << "nothing was held up";
}

TEST(FinishChoice, IsSlowerToTryAgainTheOftenerSomethingWasHeldUp) {
  FinishChoice choice;
  for (const int reads : {4, 16, 64, 256, 1024, 1024}) {
    EXPECT_EQ(quiet_reads_until_it_suits(choice), reads);
    choice.on_read(true, true);
  }
}

}  // namespace
}  // namespace hawser
