// What processes agree on.
#include "process/network_agreement.h"

#include <gtest/gtest.h>

#include "channel/channel_test_support.h"

namespace hawser {
namespace {

class NetworkAgreementTest : public testing::Test {
 protected:
  // All of them, or the first error.
  Result<> agree(const std::vector<NetworkOffer>& offers) {
    const auto size = static_cast<std::int32_t>(offers.size());
    agreed.resize(offers.size());
    const auto each = [&](auto&& step) -> Result<> {
      for (std::int32_t rank = 0; rank < size; ++rank) {
        channel_test::SharedExchange::End exchange(launcher, rank);
        HAWSER_TRY(step(exchange, rank, agreed[static_cast<std::size_t>(rank)]));
      }
      return {};
    };
    HAWSER_TRY(each([&](AddressExchange& exchange, std::int32_t rank, NetworkAgreement& own) {
      return own.offer(exchange, offers[static_cast<std::size_t>(rank)]);
    }));
    HAWSER_TRY(each([&](AddressExchange& exchange, std::int32_t rank, NetworkAgreement& own) {
      return own.collect(exchange, rank, size);
    }));
    if (!spoilt.empty())
      HAWSER_TRY(channel_test::SharedExchange::End(launcher, 0).put("rails-of-all", spoilt));
    return each([&](AddressExchange& exchange, std::int32_t, NetworkAgreement& own) {
      return own.learn(exchange, size);
    });
  }

  channel_test::SharedExchange launcher{1};  // its fences are not used
  std::string spoilt;
  std::vector<NetworkAgreement> agreed;
};

TEST_F(NetworkAgreementTest, TheSlowestSaysTheRate) {
  ASSERT_TRUE(agree({{infiniband_rails, {25'000'000'000, 12'500'000'000, 16000}},
                     {roce_rails, {3'000'000'000, 3'000'000'000, 16000}},
                     {infiniband_rails, {12'500'000'000, 2'000'000'000, 8000}}}));
  for (const NetworkAgreement& each : agreed) {
    EXPECT_EQ(each.link_rates().together, 3'000'000'000);
    EXPECT_EQ(each.link_rates().one, 2'000'000'000);
    EXPECT_EQ(each.link_rates().packet, 8000);
    EXPECT_TRUE(each.rails_between(0, 2));
    EXPECT_FALSE(each.rails_between(0, 1));
  }
}

TEST_F(NetworkAgreementTest, NobodyKnowsTheRateWhereOneHasNoRails) {
  ASSERT_TRUE(agree({{infiniband_rails, {25'000'000'000, 12'500'000'000}}, {no_rails, {}}}));
  for (const NetworkAgreement& each : agreed) EXPECT_EQ(each.link_rates().together, 0);
}

TEST_F(NetworkAgreementTest, TheSmallestAreaIsEverywhere) {
  const auto with_areas = [](std::int64_t bytes) {
    NetworkOffer offer{infiniband_rails, {5, 5}};
    offer.area_bytes = bytes;
    return offer;
  };
  const NetworkOffer alone{infiniband_rails, {5, 5}};
  ASSERT_TRUE(agree({with_areas(1 << 20), with_areas(1 << 20), alone, with_areas(65536), with_areas(65536)}));
  for (const NetworkAgreement& each : agreed) EXPECT_EQ(each.area_bytes(), 65536);
  agreed.clear();
  ASSERT_TRUE(agree({with_areas(1 << 20), with_areas(0), alone}));
  for (const NetworkAgreement& each : agreed) EXPECT_EQ(each.area_bytes(), 0);
}

TEST_F(NetworkAgreementTest, AllReadTheSameTableOfAlgorithms) {
  const LinkRates rates{1'000'000'000, 1'000'000'000};
  EXPECT_TRUE(agree({{infiniband_rails, rates, 7}, {infiniband_rails, rates, 7}}));
  const auto unlike =
      agree({{infiniband_rails, rates, 7}, {infiniband_rails, rates, 7}, {infiniband_rails, rates, 0}});
  ASSERT_FALSE(unlike);
  EXPECT_NE(unlike.error().text.find("process 2 reads another table than process 0"), std::string::npos)
      << unlike.error().text;
}

TEST_F(NetworkAgreementTest, RefusesWhatNobodyOffered) {
  for (const char* text : {"1", "11", "11 ", "11 -1/1/1/1", "11 5/5/5/x", "18 5/5/5/5", "111 5/5/5/5",
                           "11 5/5/5/5 5", "11 5/5/5"}) {
    spoilt = text;
    const Result<> result = agree({{infiniband_rails, {5, 5}}, {infiniband_rails, {5, 5}}});
    ASSERT_FALSE(result) << text;
    EXPECT_NE(result.error().text.find("the launcher returned"), std::string::npos) << text;
    agreed.clear();
  }
}

}  // namespace
}  // namespace hawser
