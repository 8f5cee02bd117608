#include "process/early_begin.h"

#include <gtest/gtest.h>

namespace hawser {
namespace {

TEST(EarlyBegin, IsGivenUpByAProgramThatWaitsAtOnceAndTakenUpByOneThatComputes) {
  EarlyBegin early;
  Nanoseconds now = 0;
  for (int i = 0; i < 4; ++i) {
    EXPECT_TRUE(early.begins(now)) << i;
    early.on_pass(now += 2 * microsecond);
  }
  EXPECT_FALSE(early.begins(now));
  early.on_pass(now += 50 * microsecond);
  EXPECT_TRUE(early.begins(now));
}

// Some calls in a row are not computing; what is between two of them may be.
TEST(EarlyBegin, LooksAtTheLongestTimeBetweenCalls) {
  EarlyBegin early;
  Nanoseconds now = 0;
  for (int round = 0; round < 4; ++round) {
    for (int call = 0; call < 100; ++call) early.begins(now += microsecond);
    early.on_pass(now += microsecond);
  }
  EXPECT_FALSE(early.begins(now));
  early.begins(now += 30 * microsecond);
  EXPECT_TRUE(early.under_way());
  early.on_pass(now += microsecond);
  EXPECT_FALSE(early.under_way());
  EXPECT_TRUE(early.begins(now));
}

}  // namespace
}  // namespace hawser
