#include "rails/decision/write_grants.h"

#include <gtest/gtest.h>

namespace hawser {
namespace {

constexpr FlowSettings ports{.queueing = 4 * millisecond, .first = 65536, .least = 16384};

class WriteGrantsTest : public testing::Test {
 protected:
  ~WriteGrantsTest() override {
    for (WriteGrant& grant : given) grants.end(grant);
  }
  WriteGrants grants{ports};
  std::array<WriteGrant, 8> given;
};

TEST_F(WriteGrantsTest, LetsAsManyWriteAsThePortsTake) {
  ASSERT_TRUE(grants.admits(1, 40000));
  grants.give(given[0], 1, 40000, 0);
  EXPECT_FALSE(grants.admits(2, 40000));
  EXPECT_TRUE(grants.admits(2, 20000));
  grants.end(given[0]);
  EXPECT_TRUE(grants.admits(2, 40000));
  EXPECT_EQ(grants.bytes(), 0);
}

TEST_F(WriteGrantsTest, AlwaysLetsOneWrite) { EXPECT_TRUE(grants.admits(1, 1 << 30)); }

TEST_F(WriteGrantsTest, CountsAWriterOnce) {
  grants.give(given[0], 1, 60000, 0);
  EXPECT_TRUE(grants.admits(1, 60000)) << "several transfers of a writer are its own business";
  grants.give(given[1], 1, 60000, 0);
  EXPECT_EQ(grants.bytes(), 60000);
  grants.end(given[0]);
  EXPECT_EQ(grants.bytes(), 60000);
  grants.end(given[1]);
  EXPECT_EQ(grants.bytes(), 0);
}

TEST_F(WriteGrantsTest, AWriterThatIsSilentDoesNotHoldUpOthers) {
  EXPECT_EQ(grants.deadline(), never);
  grants.give(given[0], 1, 60000, 0);
  grants.give(given[1], 2, 60000, 50 * millisecond);
  const Nanoseconds first = grants.deadline();
  ASSERT_LT(first, never);
  grants.end_silent(first - 1);
  EXPECT_TRUE(given[0].given());
  grants.end_silent(first);
  EXPECT_FALSE(given[0].given());
  EXPECT_TRUE(given[1].given());
  EXPECT_EQ(grants.bytes(), 60000);
}

TEST_F(WriteGrantsTest, AWriterThatIsHeardOfStays) {
  grants.give(given[0], 1, 60000, 0);
  grants.give(given[1], 2, 60000, 0);
  const Nanoseconds first = grants.deadline();
  grants.on_arrived(given[0], first - 1);
  grants.end_silent(first);
  EXPECT_TRUE(given[0].given());
  EXPECT_FALSE(given[1].given());
}

TEST_F(WriteGrantsTest, LetsMoreWriteWhenThePortsAreFast) {
  Nanoseconds now = 0;
  for (int round = 0; round < 20; ++round) {
    grants.give(given[0], 1, 60000, now);
    EXPECT_FALSE(round == 0 && grants.admits(2, 60000));
    now += 20 * microsecond;
    grants.on_arrived(given[0], now);
    grants.end(given[0]);
    grants.admits(2, 60000);
  }
  grants.give(given[0], 1, 60000, now);
  EXPECT_TRUE(grants.admits(2, 60000));
}

}  // namespace
}  // namespace hawser
