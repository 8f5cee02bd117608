#include "base/random.h"
#include "base/counted.h"
#include "base/knobs.h"

#include <gtest/gtest.h>

namespace hawser {
namespace {

TEST(Random, SameSeedSameSequence) {
  Random a(7), b(7), c(8);
  EXPECT_EQ(a.next(), b.next());
  EXPECT_NE(a.next(), c.next());
}

TEST(Random, BelowStaysBelow) {
  Random random(1);
  for (int i = 0; i < 1000; ++i) EXPECT_LT(random.below(7), 7u);
}

}  // namespace
}  // namespace hawser
