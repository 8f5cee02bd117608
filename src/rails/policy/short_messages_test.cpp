// Which rails the default policy takes for small messages, and how it cuts messages of 8 to 64 KiB.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "rails/policy/scheduling_policy.h"

namespace hawser {
namespace {

// Two rails that are alike, with so much queued on the first one.
std::vector<SubchannelView> two_rails(double bytes_per_second, std::int64_t queued) {
  std::vector<SubchannelView> views(2);
  for (std::uint16_t i = 0; i < 2; ++i) {
    views[i].usable = true;
    views[i].rail = i;
    views[i].bytes_per_second = views[i].nominal = bytes_per_second;
  }
  views[0].bytes_queued = views[0].bytes_on_it = queued;
  return views;
}

TEST(SmallMessages, KeepToThePrimaryNetworkAndToTheirRail) {
  auto views = two_rails(1e9, 0);
  views.push_back(views[1]);
  views[0].bytes_per_second = views[0].nominal = 20e6;
  views[2].rail = 2;
  const auto automatic = std::move(make_scheduling_policy("auto", 0)).value();
  const auto choose = [&] { return automatic->choose(64, TrafficClass::nonblocking, views); };
  const int home = choose();
  EXPECT_NE(home, 0);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(choose(), home);
  auto& at_home = views[static_cast<std::size_t>(home)];
  at_home.bytes_queued = 1 << 20;  // a millisecond of bulk ahead
  EXPECT_EQ(choose(), 3 - home);
  at_home.bytes_queued = 0;
  EXPECT_EQ(choose(), 3 - home);
  views[1].usable = views[2].usable = false;
  EXPECT_EQ(choose(), 0);
}

// The root of a scatter has a message for each of many peers: to each of them it is the only one.
TEST(SmallMessages, DoNotWaitForThoseToOtherPeers) {
  auto views = two_rails(1e9, 0);
  const auto automatic = std::move(make_scheduling_policy("auto", 0)).value();
  const auto choose = [&] { return automatic->choose(2048, TrafficClass::collective, views); };
  const auto home = static_cast<std::size_t>(choose());
  views[home].packet_wait = 400;
  EXPECT_EQ(choose(), static_cast<int>(home)) << "the other rail has completions of its own";
  views[home].packet_wait = 2000;
  EXPECT_EQ(choose(), static_cast<int>(1 - home));
  views[1 - home].packet_wait = 1800;
  EXPECT_EQ(choose(), static_cast<int>(home));
  views[home].packets_on_it = 2048;
  views[home].packet_wait = 10'000;
  EXPECT_EQ(choose(), static_cast<int>(home)) << "it would overtake one to the same peer";
  views[home].packet_wait = 30'000;
  EXPECT_EQ(choose(), static_cast<int>(1 - home));
}

// Many to one peer keep their order for a while, and then take what is idle.
TEST(SmallMessages, OfAWindowTakeBothRails) {
  auto views = two_rails(1e9, 0);
  const auto automatic = std::move(make_scheduling_policy("auto", 0)).value();
  const auto choose = [&] { return automatic->choose(2048, TrafficClass::nonblocking, views); };
  const auto first = static_cast<std::size_t>(choose());
  views[first].packets_on_it = 2048;
  views[first].packet_wait = 15'000;
  EXPECT_EQ(choose(), static_cast<int>(first));
  views[first].packet_wait = 25'000;
  EXPECT_EQ(choose(), static_cast<int>(1 - first));
  views[1 - first].packet_wait = 25'000;
  EXPECT_EQ(choose(), static_cast<int>(1 - first));
}

// The processes of a collective operation send in the same order, and meet at no receiver if all choose
// alike.
TEST(SmallMessages, BeginOnTheSameRailInAllProcesses) {
  for (int large = 0; large < 3; ++large) {
    auto views = two_rails(1e9, 0);
    views[1].latency -= 300;  // as measured
    const auto automatic = std::move(make_scheduling_policy("auto", 0)).value();
    StripeRequest request;
    request.bytes = 1 << 20;
    StripePlan plan;
    for (int i = 0; i < large; ++i) automatic->plan(request, views, plan);
    views[0].packet_wait = large * 1000;
    EXPECT_EQ(automatic->choose(64, TrafficClass::collective, views), 0);
  }
}

// Each message takes the nearest rail; those behind others stay in order, for a while.
TEST(SmallMessages, TakeTheNearerRailAndStayThere) {
  for (const TrafficClass traffic :
       {TrafficClass::blocking, TrafficClass::nonblocking, TrafficClass::collective}) {
    auto views = two_rails(1e9, 0);
    const auto automatic = std::move(make_scheduling_policy("auto", 0)).value();
    const auto choose = [&] { return automatic->choose(64, traffic, views); };
    const auto first = static_cast<std::size_t>(choose());
    views[first].latency += 4000;
    EXPECT_EQ(choose(), static_cast<int>(1 - first));
    EXPECT_GT(automatic->hold(static_cast<int>(1 - first), 64, views).packets, 1);
    views[first].latency -= 4000;
    EXPECT_EQ(choose(), static_cast<int>(1 - first));
    views[first].latency += 400;
    views[1 - first].latency += 800;
    EXPECT_EQ(choose(), static_cast<int>(1 - first)) << "not for so little";
  }
}

TEST(SmallMessages, GoFartherWhereTheNearerRailIsBusyForLonger) {
  auto views = two_rails(1e9, 0);
  views[1].latency += 4000;
  const auto automatic = std::move(make_scheduling_policy("auto", 0)).value();
  EXPECT_EQ(automatic->choose(64, TrafficClass::blocking, views), 0);
  views[0].packet_wait = 6000;
  EXPECT_EQ(automatic->choose(64, TrafficClass::blocking, views), 1);
}

int stripes_of(std::int64_t bytes, TrafficClass traffic, const std::vector<SubchannelView>& views) {
  auto automatic = make_scheduling_policy("auto", 0);
  StripeRequest request;
  request.bytes = bytes;
  request.traffic = traffic;
  request.smallest_stripe = 8192;
  StripePlan plan;
  automatic.value()->plan(request, views, plan);
  return static_cast<int>(plan.size());
}

TEST(ShortMessages, AreCutDownToTheSmallestStripe) {
  const auto idle = two_rails(1e9, 0);
  for (const TrafficClass traffic :
       {TrafficClass::blocking, TrafficClass::collective, TrafficClass::nonblocking}) {
    EXPECT_EQ(stripes_of(16384, traffic, idle), 2);
    EXPECT_EQ(stripes_of(24576, traffic, idle), 2);
  }
}

// Messages of 14 KiB, as those of NAS CG, went over one rail while the other was idle.
TEST(ShortMessages, AreCutIntoHalvesOfThatWhereOnlyTheyCount) {
  auto idle = two_rails(1e9, 0);
  EXPECT_EQ(stripes_of(14 * 1024, TrafficClass::blocking, idle), 2);
  EXPECT_EQ(stripes_of(14 * 1024, TrafficClass::collective, idle), 2);
  EXPECT_EQ(stripes_of(14 * 1024, TrafficClass::nonblocking, idle), 1) << "others may follow";
  EXPECT_EQ(stripes_of(14 * 1024, TrafficClass::blocking, two_rails(1e9, 1)), 1)
      << "another one is under way";
  EXPECT_EQ(stripes_of(8191, TrafficClass::blocking, idle), 1);
  idle[1].bytes_per_second = 0.7e9;
  EXPECT_EQ(stripes_of(9 * 1024, TrafficClass::blocking, idle), 2) << "the slower one takes the smallest";
}

TEST(ShortMessages, AreWholeWhereARailIsFast) {
  EXPECT_EQ(stripes_of(16384, TrafficClass::blocking, two_rails(25e9, 0)), 1)
      << "another stripe costs more than it saves";
}

// One after the other, each whole, they fill all rails.
TEST(ShortMessages, OfManyUnderWayAreNotCutFine) {
  const auto busy = two_rails(1e9, 4096);
  EXPECT_EQ(stripes_of(24576, TrafficClass::nonblocking, busy), 1);
  EXPECT_EQ(stripes_of(65536, TrafficClass::nonblocking, busy), 2);
  EXPECT_EQ(stripes_of(24576, TrafficClass::collective, busy), 2) << "somebody waits for it";
}

}  // namespace
}  // namespace hawser
