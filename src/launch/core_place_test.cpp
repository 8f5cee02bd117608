#include "launch/core_place.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <cstdlib>

namespace hawser {
namespace {

CorePlace place_of(const std::vector<int>& processors) { return core_place_of(processors); }

// hwloc takes the machine from its variable while this lives.
class Machine {
 public:
  explicit Machine(const char* description) { setenv("HWLOC_SYNTHETIC", description, 1); }
  ~Machine() { unsetenv("HWLOC_SYNTHETIC"); }
};

TEST(CorePlace, NamesWhatContainsAllProcessors) {
  const Machine machine("pack:2 numa:2 l3:2 core:2 pu:2");  // 16 processors in a package
  EXPECT_EQ(place_of({5}), (CorePlace{0, 0, 1, 2}));
  EXPECT_EQ(place_of({4, 5}), (CorePlace{0, 0, 1, 2}));
  EXPECT_EQ(place_of({4, 6}), (CorePlace{0, 0, 1, -1}));
  EXPECT_EQ(place_of({0, 7}), (CorePlace{0, 0, -1, -1}));
  EXPECT_EQ(place_of({0, 8}), (CorePlace{0, -1, -1, -1}));
  EXPECT_EQ(place_of({16}), (CorePlace{1, 2, 4, 8}));
  EXPECT_EQ(place_of({0, 31}), unknown_core_place);
  EXPECT_EQ(place_of({}), unknown_core_place);
  EXPECT_EQ(place_of({77}), unknown_core_place);
}

TEST(CorePlace, AMachineWithoutACacheIsOneGroup) {
  const Machine machine("pack:2 core:2 pu:1");
  EXPECT_EQ(place_of({3}), (CorePlace{1, 0, 0, 3}));
}

TEST(CorePlace, FindsWhereTheThreadIsBound) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  int processor = 0;
  while (!CPU_ISSET(static_cast<std::size_t>(processor), &before)) ++processor;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<std::size_t>(processor), &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  const std::vector<int> bound = bound_processors();
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
  // On a host of one processor nobody is bound.
  if (CPU_COUNT(&before) > 1) {
    EXPECT_EQ(bound, std::vector<int>{processor});
  }
  for (const std::int32_t number : core_place_of(std::vector<int>{processor})) EXPECT_GE(number, 0);
}

}  // namespace
}  // namespace hawser
