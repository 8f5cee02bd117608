// Of the default policy: which of the paths of a port it takes.
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "rails/policy/scheduling_policy.h"

namespace hawser {
namespace {

std::unique_ptr<SchedulingPolicy> automatic() { return std::move(make_scheduling_policy("auto").value()); }

StripeRequest message(std::int64_t bytes) { return {.bytes = bytes, .smallest_stripe = 16384}; }

// Paths of one port, of which the first is preferred.
std::vector<SubchannelView> paths_of(std::uint16_t rail, int count) {
  std::vector<SubchannelView> views;
  for (int i = 0; i < count; ++i) {
    views.push_back(
        {.usable = true, .rail = rail, .path = static_cast<std::uint16_t>(i), .preferred = i == 0});
    views.back().bytes_per_second = views.back().nominal = 1e9;
  }
  return views;
}

TEST(Automatic, keeps_to_the_preferred_paths_of_a_port) {
  auto views = paths_of(0, 4);
  StripePlan plan;
  auto p = automatic();
  const auto path = [&] {
    p->plan(message(1 << 20), views, plan);
    return plan.size() == 1 ? plan.stripes()[0].subchannel : -1;
  };
  for (int i = 0; i < 10; ++i) EXPECT_EQ(path(), 0);
  views[0].bytes_per_second = 0.5e9;  // crowded, and the others may be soon
  EXPECT_EQ(path(), 0);
  views[0].preferred = false;
  views[2].preferred = true;
  EXPECT_EQ(path(), 2);
  views[2].usable = false;  // then all count
  EXPECT_EQ(path(), -1);
  EXPECT_EQ(plan.size(), 3);
  views[2].usable = true;
  views[2].bytes_per_second = 0.1e9;  // degraded
  EXPECT_EQ(path(), -1);
}

TEST(Automatic, divides_by_weight_over_several_paths_where_these_are_preferred) {
  auto views = paths_of(0, 3);
  for (SubchannelView& v : views) v.preferred = true;
  for (SubchannelView& v : views) v.bytes_per_second = 0.2e9;
  views[1].bytes_per_second = 0.4e9;
  StripePlan plan;
  automatic()->plan(message(1 << 20), views, plan);
  ASSERT_EQ(plan.size(), 3);
  for (const Stripe& stripe : plan.stripes())
    EXPECT_NEAR(static_cast<double>(stripe.bytes), (1 << 20) * (stripe.subchannel == 1 ? 0.5 : 0.25), 1000);
}

TEST(Automatic, leaves_out_the_slowest_of_four_paths) {
  // Each path has two engines; an engine of path 2 is slower than all, but its other one is not.
  std::vector<SubchannelView> views;
  for (std::uint16_t i = 0; i < 8; ++i) {
    views.push_back({.usable = true,
                     .path = static_cast<std::uint16_t>(i / 2),
                     .engine = static_cast<std::uint16_t>(i % 2)});
    views.back().nominal = 1e9;
    views.back().bytes_per_second = i / 2 == 1 ? 0.15e9 : 0.2e9;
  }
  views[4].bytes_per_second = 0.1e9;
  StripePlan plan;
  auto p = automatic();
  const auto paths = [&] {
    p->plan(message(1 << 20), views, plan);
    std::set<int> used;
    for (const Stripe& stripe : plan.stripes()) used.insert(views[stripe.subchannel].path);
    return used;
  };
  EXPECT_EQ(paths(), (std::set<int>{0, 2, 3}));
  for (SubchannelView& v : views)
    if (v.path == 3) v.bytes_per_second = 0.08e9;  // crowded now
  EXPECT_EQ(paths(), (std::set<int>{0, 1, 2}));
  for (SubchannelView& v : views)
    if (v.path == 0) v.usable = false;
  EXPECT_EQ(paths(), (std::set<int>{1, 2, 3}));
}

// Its rate is not known until it has carried something.
TEST(Automatic, leaves_out_no_path_that_has_to_show_that_it_is_better) {
  auto views = paths_of(0, 4);
  for (SubchannelView& v : views) v.preferred = true;
  views[2].bytes_per_second = 1e9 / 16;
  StripePlan plan;
  automatic()->plan(message(1 << 20), views, plan);
  EXPECT_EQ(plan.size(), 4);
}

// So each is measured now and then.
TEST(Automatic, leaves_out_each_of_equal_paths_in_turn) {
  auto views = paths_of(0, 4);
  for (SubchannelView& v : views) v.preferred = true;
  std::set<int> left_out;
  auto p = automatic();
  for (int i = 0; i < 4; ++i) {
    StripePlan plan;
    p->plan(message(1 << 20), views, plan);
    ASSERT_EQ(plan.size(), 3);
    int others = 0 + 1 + 2 + 3;
    for (const Stripe& stripe : plan.stripes()) others -= stripe.subchannel;
    left_out.insert(others);
  }
  EXPECT_EQ(left_out.size(), 4U);
}

TEST(Automatic, leaves_out_none_for_a_short_message_that_is_not_waited_for) {
  auto views = paths_of(0, 4);
  for (SubchannelView& v : views) v.preferred = true;
  StripePlan plan;
  auto p = automatic();
  const auto stripes = [&](std::int64_t bytes, TrafficClass traffic) {
    StripeRequest request = message(bytes);
    request.traffic = traffic;
    p->plan(request, views, plan);
    return plan.size();
  };
  EXPECT_EQ(stripes(65536, TrafficClass::nonblocking), 4);
  EXPECT_EQ(stripes(131072, TrafficClass::nonblocking), 3);
  EXPECT_EQ(stripes(65536, TrafficClass::blocking), 3);
  for (SubchannelView& v : views) v.bytes_queued = 1000;  // beside another one
  EXPECT_EQ(stripes(65536, TrafficClass::nonblocking), 3);
  for (SubchannelView& v : views) v.bytes_queued = 0;
  EXPECT_EQ(stripes(65536, TrafficClass::nonblocking), 3);
  EXPECT_EQ(stripes(65536, TrafficClass::nonblocking), 4);
}

TEST(Automatic, spreads_over_two_ports_rather_than_over_paths_of_one) {
  auto views = paths_of(0, 4);
  for (const SubchannelView& v : paths_of(1, 4)) views.push_back(v);
  StripePlan plan;
  automatic()->plan(message(4 << 20), views, plan);
  ASSERT_EQ(plan.size(), 2);
  EXPECT_NE(views[plan.stripes()[0].subchannel].rail, views[plan.stripes()[1].subchannel].rail);
}

}  // namespace
}  // namespace hawser
