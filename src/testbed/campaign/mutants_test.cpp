// A campaign that finds nothing in a protocol with a fault is worth nothing: bugs that are planted in the
// protocol are found.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/planted_bug.h"
#include "testbed/campaign/campaign.h"

namespace hawser {
namespace {

enum class Kind { faulty, calm, black_holes, kills };

// From this seed on, some seed is judged so because of the bug. Several rows of one bug: each judge finds it.
// Whatever changes the protocol or the network moves these seeds, so the search goes on for long; where it
// begins only saves time.
constexpr std::uint64_t most_seeds = 800, seeds_at_once = 16;
struct Case {
  PlantedBug bug;
  Kind kind;
  std::uint64_t first;
  const char* why;  // stands in the reason
};
constexpr Case cases[] = {
    {PlantedBug::resend_without_fence, Kind::faulty, 101, ""},
    {PlantedBug::duplicate_finish, Kind::faulty, 100, ""},
    {PlantedBug::wrong_key, Kind::faulty, 1, "adapters refused"},
    {PlantedBug::early_readmission, Kind::faulty, 1, "assertion failed"},
    {PlantedBug::long_hold_down, Kind::faulty, 1, "time limit"},
    {PlantedBug::lose_credits, Kind::calm, 15, "deadlock"},
    {PlantedBug::ignore_silence, Kind::black_holes, 20, "found after more than 0.1 s"},
    {PlantedBug::impatient_adapters, Kind::calm, 80, "failed more than once"},
    {PlantedBug::impatient_adapters, Kind::calm, 255, "were sent again"},
    {PlantedBug::impatient_adapters, Kind::calm, 530, "with endless patience"},
    {PlantedBug::put_without_fence, Kind::faulty, 3577, "the window of rank"},
    {PlantedBug::early_flush, Kind::faulty, 231, "the window of rank"},
    {PlantedBug::accumulate_twice, Kind::faulty, 1, "window of rank"},
    {PlantedBug::lost_interrupt, Kind::faulty, 1, "overslept"},
    {PlantedBug::send_while_closing, Kind::faulty, 255, "deadlock"},
    {PlantedBug::busy_victim, Kind::faulty, 1, "assertion failed"},
    {PlantedBug::mutual_victims, Kind::faulty, 1, "time limit"},
    {PlantedBug::datagram_twice, Kind::faulty, 1, ""},
    {PlantedBug::acknowledged_twice, Kind::faulty, 1, ""},
    {PlantedBug::early_free, Kind::faulty, 1, ""},
    {PlantedBug::heard_last, Kind::faulty, 1, ""},
    {PlantedBug::forgetful_coordinator, Kind::kills, 3490, ""},
    {PlantedBug::dead_key, Kind::faulty, 41, "not registered any more"},
};

ScenarioWishes wishes_of(Kind kind) {
  return {.calm = kind == Kind::calm || kind == Kind::black_holes,
          .black_holes = kind == Kind::black_holes,
          .kills = kind == Kind::kills};
}

class Planted : public testing::TestWithParam<Case> {};

TEST_P(Planted, IsFound) {
  const Case& wanted = GetParam();
  CampaignOptions options{.twice_every = 0};
  options.seed = {.wishes = wishes_of(wanted.kind), .planted = wanted.bug};
  std::uint64_t found = 0;
  std::string others;
  for (std::uint64_t tried = 0; found == 0 && tried < most_seeds; tried += seeds_at_once) {
    options.first = wanted.first + tried;
    options.last = options.first + seeds_at_once - 1;
    run_campaign(options, [&](std::uint64_t seed, const std::string& reason) {
      if (found == 0 && reason.find(wanted.why) != std::string::npos)
        found = seed;
      else
        others += reason + "\n";
    });
  }
  ASSERT_NE(found, 0u) << others;
  // The same seed is good without the bug: it is the bug that was found.
  const SeedVerdict healthy = run_seed(found, {.wishes = wishes_of(wanted.kind)});
  EXPECT_TRUE(healthy.good()) << "seed " << found << ": " << healthy.complaint;
}

std::string case_name(const testing::TestParamInfo<Case>& info) {
  for (const PlantedBugInfo& each : planted_bugs())
    if (each.bug == info.param.bug) return fmt::format("{}_from_{}", each.name, info.param.first);
  return "unknown";
}
INSTANTIATE_TEST_SUITE_P(Bugs, Planted, testing::ValuesIn(cases), case_name);

// Too rare for drawn programs; a test of the rails is about it (test/rails/mutants_test.cpp).
constexpr PlantedBug tried_elsewhere[] = {PlantedBug::fence_over_the_same};

TEST(PlantedBugs, AllAreTried) {
  for (const PlantedBugInfo& each : planted_bugs())
    EXPECT_TRUE(std::ranges::any_of(cases, [&](const Case& tried) { return tried.bug == each.bug; }) ||
                std::ranges::find(tried_elsewhere, each.bug) != std::end(tried_elsewhere))
        << each.name;
}

// A worker that dies over a seed is that seed's failure, and the others go on.
TEST(Campaign, OutlivesItsWorkers) {
  CampaignOptions options;
  options.first = 1;
  options.last = 12;
  options.jobs = 2;
  options.seed.planted = PlantedBug::early_readmission;  // an assertion finds it
  std::set<std::uint64_t> failed;
  std::string reasons;
  const CampaignResult result = run_campaign(options, [&](std::uint64_t seed, const std::string& why) {
    failed.insert(seed);
    reasons += why;
  });
  EXPECT_EQ(result.seeds, 12u);
  EXPECT_GT(failed.size(), 0u);
  EXPECT_EQ(failed.size(), result.failed);
  EXPECT_THAT(reasons, testing::HasSubstr("assertion failed"));
}

}  // namespace
}  // namespace hawser
