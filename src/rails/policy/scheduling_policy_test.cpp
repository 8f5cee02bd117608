#include "rails/policy/scheduling_policy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/random.h"

namespace hawser {
namespace {

constexpr double megabyte = 1e6;

SubchannelView view(std::uint16_t rail, double bytes_per_second, std::uint16_t path = 0) {
  SubchannelView v;
  v.usable = true;
  v.rail = rail;
  v.path = path;
  v.bytes_per_second = bytes_per_second;
  v.nominal = bytes_per_second;
  return v;
}

std::unique_ptr<SchedulingPolicy> policy(std::string_view text, int rotation = 0) {
  auto made = make_scheduling_policy(text, rotation);
  EXPECT_TRUE(made) << text;
  return std::move(made.value());
}

StripeRequest request(std::int64_t bytes, TrafficClass traffic = TrafficClass::blocking) {
  StripeRequest r;
  r.bytes = bytes;
  r.traffic = traffic;
  r.smallest_stripe = 16384;
  return r;
}

void expect_valid(const StripePlan& plan, const StripeRequest& r, std::span<const SubchannelView> views,
                  const std::string& what) {
  ASSERT_GE(plan.size(), 1) << what;
  ASSERT_LE(plan.size(), max_stripes) << what;
  std::int64_t at = 0;
  std::set<int> used;
  for (const Stripe& stripe : plan.stripes()) {
    ASSERT_EQ(stripe.offset, at) << what;
    ASSERT_LT(stripe.subchannel, views.size()) << what;
    ASSERT_TRUE(views[stripe.subchannel].usable) << what;
    ASSERT_TRUE(used.insert(stripe.subchannel).second) << what << ": twice on one subchannel";
    if (plan.size() > 1) {
      ASSERT_GE(stripe.bytes, r.smallest_stripe) << what;
    } else {
      ASSERT_EQ(stripe.bytes, r.bytes) << what;
    }
    at += stripe.bytes;
  }
  ASSERT_EQ(at, r.bytes) << what;
}

// When a message planned like that is done, in ns from now: requests are posted one after the other, each
// rail moves its bytes in order, a subchannel not faster than its own rate. The truth may differ from the
// views.
double finish_ns(const StripePlan& plan, std::span<const SubchannelView> views, std::span<const double> truth,
                 double post_ns = 500) {
  std::map<int, double> rail_free;
  double posted = 0;
  double done = 0;
  for (const Stripe& stripe : plan.stripes()) {
    const SubchannelView& v = views[stripe.subchannel];
    const double rate = truth[stripe.subchannel] / 1e9;
    posted += post_ns;
    auto [free, is_new] = rail_free.try_emplace(v.rail, static_cast<double>(v.bytes_queued) / rate);
    free->second = std::max(free->second, posted) + static_cast<double>(stripe.bytes) / rate;
    done = std::max(done, free->second + static_cast<double>(v.latency));
  }
  return done + post_ns * plan.size();  // completions
}

std::vector<double> rates_of(std::span<const SubchannelView> views) {
  std::vector<double> rates;
  for (const SubchannelView& v : views) rates.push_back(v.bytes_per_second);
  return rates;
}

TEST(SchedulingPolicy, every_plan_covers_the_message_on_usable_subchannels) {
  Random random(7);
  for (const PolicyInfo& info : scheduling_policies()) {
    auto p = policy(info.name, static_cast<int>(random.below(100)));
    EXPECT_EQ(p->name(), info.name);
    for (int i = 0; i < 3000; ++i) {
      std::vector<SubchannelView> views(1 + random.below(random.chance(0.1) ? 130 : 9));
      for (std::size_t k = 0; k < views.size(); ++k) {
        views[k] = view(static_cast<std::uint16_t>(random.below(3)), 1 + 1e10 * std::pow(random.uniform(), 6),
                        static_cast<std::uint16_t>(k));
        views[k].usable = random.chance(0.7);
        views[k].nominal = random.chance(0.1) ? 0 : 1e9;
        views[k].bytes_queued = random.chance(0.5) ? 0 : static_cast<std::int64_t>(random.below(1u << 30));
        views[k].requests_queued = static_cast<std::int32_t>(random.below(20));
      }
      views[random.below(views.size())].usable = true;
      auto r = request(static_cast<std::int64_t>(random.below(1ull << random.below(33))),
                       static_cast<TrafficClass>(random.below(3)));
      r.smallest_stripe = static_cast<std::int64_t>(1 + random.below(65536));
      StripePlan plan;
      p->plan(r, views, plan);
      const auto queued = [](const SubchannelView& v) { return v.usable && v.bytes_queued > 0; };
      if (info.name == "auto" && r.traffic != TrafficClass::nonblocking &&
          std::ranges::none_of(views, queued))
        r.smallest_stripe /= 2;
      expect_valid(plan, r, views, std::string(info.name) + " round " + std::to_string(i));
      if (testing::Test::HasFatalFailure()) return;
      const int chosen = p->choose(100, r.traffic, views);
      ASSERT_GE(chosen, 0);
      ASSERT_TRUE(views[static_cast<std::size_t>(chosen)].usable);
    }
    std::vector<SubchannelView> none(3);
    EXPECT_EQ(p->choose(1, TrafficClass::blocking, none), -1) << info.name;
  }
}

TEST(SchedulingPolicy, is_found_by_name_and_numbers) {
  EXPECT_TRUE(make_scheduling_policy("bss(8,2)"));
  EXPECT_TRUE(make_scheduling_policy("bss(8)"));
  EXPECT_TRUE(make_scheduling_policy("window_round_robin(16)"));
  for (const char* wrong :
       {"", "best", "bss(", "bss()", "bss(8", "bss(8,", "bss(8,2", "bss(8,2,1)", "bss(0,2)", "bss(8,x)",
        "bss(8,2)x", "even(3)", "bss(99999999999)", "BSS", "bss (8,2)"}) {
    auto made = make_scheduling_policy(wrong);
    ASSERT_FALSE(made) << wrong;
    EXPECT_NE(made.error().text.find("bss(12,3)"), std::string::npos) << made.error().text;
  }
}

TEST(Binding, stays_and_gives_way) {
  std::vector views = {view(0, 1e9), view(1, 1e9), view(2, 1e9)};
  auto p = policy("binding", 4);
  StripePlan plan;
  for (int i = 0; i < 5; ++i) {
    p->plan(request(1 << 20), views, plan);
    EXPECT_EQ(plan.stripes()[0].subchannel, 1);
  }
  views[1].usable = false;
  EXPECT_EQ(p->choose(1, TrafficClass::blocking, views), 2);
  views[1].usable = true;
  EXPECT_EQ(p->choose(1, TrafficClass::blocking, views), 1);
}

TEST(RoundRobin, takes_turns) {
  std::vector views = {view(0, 1e9), view(1, 1e9), view(2, 1e9)};
  views[1].usable = false;
  auto p = policy("round_robin");
  StripePlan plan;
  std::vector<int> order;
  for (int i = 0; i < 4; ++i) {
    p->plan(request(1 << 20), views, plan);
    order.push_back(plan.stripes()[0].subchannel);
    p->choose(1, TrafficClass::blocking, views);  // does not disturb
  }
  EXPECT_EQ(order, (std::vector<int>{0, 2, 0, 2}));
}

TEST(WeightedRoundRobin, turns_are_in_proportion_and_spread) {
  std::vector views = {view(0, 3e9), view(1, 1e9)};
  auto p = policy("weighted_round_robin");
  int first = 0;
  int longest_run = 0;
  int run = 0;
  for (int i = 0; i < 400; ++i) {
    const bool on_first = p->choose(1, TrafficClass::blocking, views) == 0;
    first += on_first;
    run = on_first ? run + 1 : 0;
    longest_run = std::max(longest_run, run);
  }
  EXPECT_NEAR(first, 300, 2);
  EXPECT_LE(longest_run, 4);
}

TEST(WindowRoundRobin, stays_for_a_window) {
  std::vector views = {view(0, 1e9), view(1, 1e9)};
  auto p = policy("window_round_robin(3)");
  std::vector<int> order;
  for (int i = 0; i < 8; ++i) order.push_back(p->choose(1, TrafficClass::blocking, views));
  EXPECT_EQ(order, (std::vector<int>{0, 0, 0, 1, 1, 1, 0, 0}));
}

TEST(Striping, divides_as_its_name_says) {
  std::vector views = {view(0, 3e9), view(1, 1e9)};
  views[0].bytes_per_second = 1e9;  // measured is not what the port could
  StripePlan plan;
  policy("even")->plan(request(4 << 20), views, plan);
  EXPECT_EQ(plan.stripes()[0].bytes, 2 << 20);
  policy("weighted")->plan(request(4 << 20), views, plan);
  EXPECT_EQ(plan.stripes()[0].bytes, 3 << 20);
  policy("adaptive")->plan(request(4 << 20), views, plan);
  EXPECT_EQ(plan.stripes()[0].bytes, 2 << 20);
  // Too small to be cut.
  policy("even")->plan(request(20000), views, plan);
  EXPECT_EQ(plan.size(), 1);
  // The light one's share would be too small.
  policy("weighted")->plan(request(40000), views, plan);
  EXPECT_EQ(plan.size(), 1);
}

TEST(WeightedStriping, subchannels_of_a_rail_share_its_rate) {
  std::vector views = {view(0, 1e9, 0), view(0, 1e9, 1), view(0, 1e9, 2), view(1, 1e9, 0)};
  StripePlan plan;
  policy("weighted")->plan(request(6 << 20), views, plan);
  for (const Stripe& stripe : plan.stripes())
    EXPECT_NEAR(static_cast<double>(stripe.bytes), stripe.subchannel == 3 ? 3 << 20 : 1 << 20, 1024);
}

TEST(Bss, uses_the_best_of_the_first_paths) {
  std::vector<SubchannelView> views;
  for (int i = 0; i < 8; ++i) views.push_back(view(0, 1e9 + i * 1e8, static_cast<std::uint16_t>(i)));
  StripePlan plan;
  auto used = [&plan] {
    std::set<int> s;
    for (const Stripe& stripe : plan.stripes()) s.insert(stripe.subchannel);
    return s;
  };
  policy("bss(8,2)")->plan(request(4 << 20), views, plan);
  EXPECT_EQ(used(), (std::set<int>{6, 7}));
  EXPECT_NEAR(static_cast<double>(plan.stripes()[0].bytes) / (4 << 20), 1.7 / 3.3, 0.001);
  policy("bss(4,3)")->plan(request(4 << 20), views, plan);
  EXPECT_EQ(used(), (std::set<int>{1, 2, 3}));
}

// EPC against striping and round robin: a lone message, and many under way. Four engines of a port, each up
// to half as fast as the port; a stripe costs its request and its acknowledgement.
TEST(Epc, is_never_worse_than_striping_or_round_robin) {
  std::vector<SubchannelView> views;
  for (int i = 0; i < 4; ++i) views.push_back(view(static_cast<std::uint16_t>(i), 0.7e9));
  const auto lone = [&views](std::string_view name, std::int64_t bytes, TrafficClass traffic) {
    StripePlan plan;
    StripeRequest r = request(bytes, traffic);
    r.smallest_stripe = 4096;
    policy(name)->plan(r, views, plan);
    return finish_ns(plan, views, rates_of(views));
  };
  // Time per message of a window of 64: the engines' queues run in parallel, the host posts in turn.
  const auto window = [&views](std::string_view name, std::int64_t bytes, TrafficClass traffic) {
    auto p = policy(name);
    std::vector<double> engine(views.size(), 0);
    double host = 0;
    for (int i = 0; i < 64; ++i) {
      StripePlan plan;
      StripeRequest r = request(bytes, traffic);
      r.smallest_stripe = 4096;
      p->plan(r, views, plan);
      for (const Stripe& stripe : plan.stripes()) {
        host += 1000;  // request and completion
        double& free = engine[stripe.subchannel];
        free = std::max(free, host) + 1500 + static_cast<double>(stripe.bytes) / 0.7;
      }
    }
    return *std::max_element(engine.begin(), engine.end()) / 64;
  };
  for (std::int64_t bytes = 16384; bytes <= 4 << 20; bytes *= 2) {
    for (const auto traffic : {TrafficClass::blocking, TrafficClass::collective}) {
      const double epc = lone("epc", bytes, traffic);
      EXPECT_LE(epc, lone("even", bytes, traffic) * 1.0001) << bytes;
      EXPECT_LE(epc, lone("round_robin", bytes, traffic) * 1.0001) << bytes;
    }
    const double epc = window("epc", bytes, TrafficClass::nonblocking);
    EXPECT_LE(epc, window("even", bytes, TrafficClass::nonblocking) * 1.02) << bytes;
    EXPECT_LE(epc, window("round_robin", bytes, TrafficClass::nonblocking) * 1.02) << bytes;
    // And the default policy is as good.
    EXPECT_LE(lone("auto", bytes, TrafficClass::blocking), lone("epc", bytes, TrafficClass::blocking) * 1.02)
        << bytes;
  }
}

TEST(Automatic, unlike_rails_give_their_sum_and_never_less_than_the_fast_one) {
  for (const double slow : {100.0, 50.0, 20.0, 10.0, 2.0, 0.5}) {
    std::vector views = {view(0, 200 * megabyte), view(1, slow * megabyte)};
    const std::vector alone_views = {views[0]};
    const auto truth = rates_of(views);
    auto p = policy("auto");
    for (double size = 1; size < 3e8; size *= 1.1) {
      const auto bytes = static_cast<std::int64_t>(size);
      StripePlan both, alone;
      p->plan(request(bytes), views, both);
      policy("binding")->plan(request(bytes), alone_views, alone);
      const double with_both = finish_ns(both, views, truth);
      ASSERT_LE(with_both, finish_ns(alone, views, truth)) << bytes << " with " << slow;
      if (bytes > 10'000'000) {
        ASSERT_GE(static_cast<double>(bytes) / with_both * 1000, 0.95 * (200 + slow)) << bytes;
      }
    }
  }
}

TEST(Automatic, holds_although_the_slow_rail_is_slower_than_thought) {
  std::vector views = {view(0, 200 * megabyte), view(1, 20 * megabyte)};
  const std::vector<double> truth = {200 * megabyte, 19.5 * megabyte};
  const std::vector alone_views = {views[0]};
  auto p = policy("auto");
  for (double size = 1; size < 1e8; size *= 1.2) {
    StripePlan both, alone;
    p->plan(request(static_cast<std::int64_t>(size)), views, both);
    policy("binding")->plan(request(static_cast<std::int64_t>(size)), alone_views, alone);
    ASSERT_LE(finish_ns(both, views, truth), finish_ns(alone, views, truth)) << size;
  }
}

TEST(Automatic, is_never_later_than_any_rail_alone) {
  Random random(11);
  for (int round = 0; round < 3000; ++round) {
    std::vector<SubchannelView> views;
    const std::size_t n = 2 + random.below(4);
    for (std::size_t i = 0; i < n; ++i) {
      views.push_back(view(static_cast<std::uint16_t>(i), 1e6 * std::pow(10, 4 * random.uniform())));
      views.back().bytes_queued = random.chance(0.5) ? 0 : static_cast<std::int64_t>(random.below(1u << 22));
      views.back().latency = static_cast<Nanoseconds>(1000 + random.below(50000));
    }
    const auto truth = rates_of(views);
    const auto bytes = static_cast<std::int64_t>(std::pow(10, 8 * random.uniform()));
    StripePlan plan;
    policy("auto", static_cast<int>(random.below(8)))->plan(request(bytes), views, plan);
    const double planned = finish_ns(plan, views, truth);
    for (std::size_t i = 0; i < n; ++i) {
      StripePlan alone;
      alone.add({static_cast<std::uint16_t>(i), 0, bytes});
      ASSERT_LE(planned, finish_ns(alone, views, truth) + 1500.0 * plan.size())
          << "round " << round << " rail " << i;
    }
  }
}

TEST(Automatic, equal_rails_share_and_take_turns) {
  std::vector views = {view(0, 1e9), view(1, 1e9)};
  auto p = policy("auto");
  StripePlan plan;
  p->plan(request(1 << 20), views, plan);
  ASSERT_EQ(plan.size(), 2);
  EXPECT_EQ(plan.stripes()[0].bytes, plan.stripes()[1].bytes);
  std::map<int, int> uses;
  for (int i = 0; i < 10; ++i) {
    p->plan(request(6000), views, plan);
    ASSERT_EQ(plan.size(), 1);
    ++uses[plan.stripes()[0].subchannel];
  }
  EXPECT_EQ(uses[0], 5);
}

TEST(Automatic, non_blocking_messages_of_middle_size_stay_whole_when_many_are_under_way) {
  std::vector views = {view(0, 1e9), view(1, 1e9)};
  auto p = policy("auto");
  StripePlan plan;
  p->plan(request(65536, TrafficClass::nonblocking), views, plan);
  EXPECT_EQ(plan.size(), 2);  // nothing else is under way
  for (SubchannelView& v : views) v.bytes_queued = 1 << 20;
  p->plan(request(65536, TrafficClass::nonblocking), views, plan);
  EXPECT_EQ(plan.size(), 1);
  p->plan(request(65536, TrafficClass::collective), views, plan);
  EXPECT_EQ(plan.size(), 2);
}

// Whoever asks only when hold() says so gets what it would get by asking for every packet.
TEST(PacketHold, a_choice_stands_as_long_as_it_says) {
  Random random(7);
  for (const PolicyInfo& info : scheduling_policies()) {
    const std::string name(info.name);
    int held = 0;
    for (int round = 0; round < 300; ++round) {
      auto p = policy(name);
      std::vector<SubchannelView> views;
      for (std::uint16_t i = 0; i < 1 + random.below(8); ++i) {
        views.push_back(view(i, 1e8 * static_cast<double>(1 + random.below(100))));
        views.back().bytes_queued = static_cast<std::int64_t>(random.below(2)) * 4096;
        views.back().packets_on_it = static_cast<std::int64_t>(random.below(2)) * 300;
      }
      const std::int64_t bytes = 1 + static_cast<std::int64_t>(random.below(200));
      const int first = p->choose(bytes, TrafficClass::blocking, views);
      const PacketHold hold = p->hold(first, bytes, views);
      ASSERT_GE(hold.packets, 1) << name;
      ASSERT_GE(hold.most_bytes, bytes) << name;
      if (hold.packets == 1 || hold.most_requests != INT32_MAX) continue;
      ++held;
      for (int packet = 0; packet < 8; ++packet) {
        for (SubchannelView& v : views) {
          v.bytes_queued = static_cast<std::int64_t>(random.below(1 << 22));
          v.packet_wait = static_cast<Nanoseconds>(random.below(1 << 15));
        }
        SubchannelView& chosen = views[static_cast<std::size_t>(first)];
        chosen.bytes_queued = std::min(chosen.bytes_queued, hold.most_queued);
        chosen.packet_wait = std::min(chosen.packet_wait, hold.most_wait);
        chosen.packets_on_it = std::max(chosen.packets_on_it, hold.least_ahead);
        const auto size = static_cast<std::int64_t>(random.below(8192));
        ASSERT_EQ(p->choose(std::min(size, hold.most_bytes), TrafficClass::blocking, views), first) << name;
      }
    }
    EXPECT_TRUE((name != "auto" && name != "binding") || held > 100) << name << ": " << held;
  }
}

// Small packets pile up on no connection while another one has little to do, and large ones are spread.
TEST(PacketHold, leaves_no_connection_idle) {
  for (const char* name : {"even", "weighted", "adaptive", "bss"}) {
    std::vector views = {view(0, 1e9), view(1, 1e9)};
    auto p = policy(name);
    PacketHold hold;
    int chosen = -1;
    for (int packet = 0; packet < 60; ++packet) {
      if (chosen < 0 || hold.packets-- <= 1 ||
          views[static_cast<std::size_t>(chosen)].requests_queued >= hold.most_requests) {
        chosen = p->choose(64, TrafficClass::blocking, views);
        hold = p->hold(chosen, 64, views);
      }
      ++views[static_cast<std::size_t>(chosen)].requests_queued;
    }
    EXPECT_LE(std::abs(views[0].requests_queued - views[1].requests_queued), 4) << name;
    EXPECT_EQ(p->hold(chosen, 4096, views).packets, 1) << name;
  }
}

}  // namespace
}  // namespace hawser
