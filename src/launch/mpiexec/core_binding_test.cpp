#include "launch/mpiexec/core_binding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hawser {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Two packages with two cores of two threads each, numbered as Linux does.
const std::vector<Processor> machine = {{0, 0, 0}, {1, 0, 1}, {2, 1, 0}, {3, 1, 1},
                                        {4, 0, 0}, {5, 0, 1}, {6, 1, 0}, {7, 1, 1}};

TEST(CoreBinding, AutomaticDividesTheCores) {
  EXPECT_THAT(assign_processors(machine, 2, 2, BindMode::automatic),
              ElementsAre(ElementsAre(0, 4, 1, 5), ElementsAre(2, 6, 3, 7)));
  EXPECT_THAT(assign_processors(machine, 3, 3, BindMode::automatic),
              ElementsAre(ElementsAre(0, 4), ElementsAre(1, 5), ElementsAre(2, 6, 3, 7)));
}

TEST(CoreBinding, AutomaticLeavesOneAndTooManyAlone) {
  EXPECT_THAT(assign_processors(machine, 1, 1, BindMode::automatic), IsEmpty());
  EXPECT_THAT(assign_processors(machine, 5, 5, BindMode::automatic), IsEmpty());
}

// A rank and the daemon of a virtual fabric that share a core both lose, while another may stand still.
TEST(CoreBinding, AutomaticCountsWhoWorksForTheRanks) {
  EXPECT_EQ(assign_processors(machine, 3, 4, BindMode::automatic),
            assign_processors(machine, 3, 3, BindMode::automatic));
  EXPECT_THAT(assign_processors(machine, 4, 5, BindMode::automatic), IsEmpty());
  EXPECT_THAT(assign_processors(machine, 4, 5, BindMode::core), testing::SizeIs(4));
}

TEST(CoreBinding, CoreGivesEachOneCoreAndWrapsAround) {
  EXPECT_THAT(assign_processors(machine, 5, 5, BindMode::core),
              ElementsAre(ElementsAre(0, 4), ElementsAre(1, 5), ElementsAre(2, 6), ElementsAre(3, 7),
                          ElementsAre(0, 4)));
}

TEST(CoreBinding, TellsWhetherRanksShareCores) {
  EXPECT_TRUE(apart(assign_processors(machine, 3, 3, BindMode::automatic)));
  EXPECT_TRUE(apart(assign_processors(machine, 4, 4, BindMode::core)));
  EXPECT_FALSE(apart(assign_processors(machine, 5, 5, BindMode::core)));
  EXPECT_FALSE(apart(assign_processors(machine, 5, 5, BindMode::automatic)));
}

TEST(CoreBinding, None) { EXPECT_THAT(assign_processors(machine, 2, 2, BindMode::none), IsEmpty()); }

}  // namespace
}  // namespace hawser
