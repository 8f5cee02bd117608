#include "process/progress_choice.h"

#include <gtest/gtest.h>

namespace hawser {
namespace {

TEST(ProgressChoice, AutoWantsRailsAndACoreThatIsFree) {
  EXPECT_TRUE(uses_interrupts("auto", {.rails = true, .cores = 2, .processes = 1}));
  EXPECT_TRUE(uses_interrupts("auto", {.rails = true, .cores = 16, .processes = 15}));
  EXPECT_FALSE(uses_interrupts("auto", {.rails = true, .cores = 2, .processes = 2}));
  EXPECT_FALSE(uses_interrupts("auto", {.rails = true, .cores = 2, .processes = 8}));
  EXPECT_FALSE(uses_interrupts("auto", {.rails = true, .cores = 1, .processes = 1})) << "bound to one core";
  EXPECT_FALSE(uses_interrupts("auto", {.rails = false, .cores = 2, .processes = 1}));
}

TEST(ProgressChoice, TheOthersAreWhatTheySay) {
  for (const bool rails : {false, true})
    for (const std::int64_t processes : {1, 2, 100}) {
      EXPECT_TRUE(uses_interrupts("interrupt", {rails, 2, processes}));
      EXPECT_FALSE(uses_interrupts("polling", {rails, 2, processes}));
    }
}

TEST(ProgressChoice, SaysWhy) {
  EXPECT_EQ(describe_progress("auto", {true, 2, 1}, true), "interrupt (auto: 1 process has 2 cores)");
  EXPECT_EQ(describe_progress("auto", {true, 2, 2}, false), "polling (auto: 2 processes share 2 cores)");
  EXPECT_EQ(describe_progress("auto", {false, 1, 1}, false),
            "polling (auto: no rails, 1 process has 1 core)");
  EXPECT_EQ(describe_progress("polling", {true, 2, 1}, false), "polling (HAWSER_PROGRESS=polling)");
  EXPECT_EQ(describe_progress("interrupt", {true, 2, 1}, true), "interrupt (HAWSER_PROGRESS=interrupt)");
  EXPECT_EQ(describe_progress("interrupt", {false, 2, 1}, false),
            "polling (HAWSER_PROGRESS=interrupt, which is not possible)");
}

}  // namespace
}  // namespace hawser
