#include "launch/mpiexec/rank_environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hawser {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

const std::vector<std::string_view> inherited = {"A=1", "PMI_FD=9", "PMIX_NAMESPACE=x", "HAWSER_JOB_ID=old",
                                                 "B=2"};

TEST(RankEnvironment, OtherLaunchersAreRemovedAndOptionsAdded) {
  JobOptions options;
  options.environment = {{"A", "10"}};
  options.exported = {"B"};
  ProgramOptions program;
  program.environment = {{"C", "3"}, {"A", "11"}};
  EXPECT_THAT(program_environment(inherited, options, program).value(), ElementsAre("B=2", "C=3", "A=11"));
}

TEST(RankEnvironment, MistakesAreFoundBeforeAnythingStarts) {
  JobOptions options;
  options.exported = {"NOT_THERE"};
  EXPECT_THAT(program_environment(inherited, options, {}).error().text, HasSubstr("NOT_THERE"));
  options.exported = {};
  options.environment = {{"HAWSER_STAST", "on"}};
  EXPECT_THAT(program_environment(inherited, options, {}).error().text, HasSubstr("HAWSER_STATS"));
}

TEST(RankEnvironment, EachRankLearnsItsPlace) {
  Placement placement{{"n1", "n2"}, {0, 1}, {0, 1}, 2};
  const auto variables =
      rank_environment({"job", "(vector,(0,2,1))", false, 3}, placement, {1, 0, 1, 7, 8, true});
  for (const char* expected :
       {"PMI_FD=7", "PMI_RANK=1", "PMI_SIZE=2", "HAWSER_JOB_ID=job", "HAWSER_JOB_APPNUM=1",
        "HAWSER_JOB_HOST=n2", "HAWSER_JOB_NODE_FD=8", "HAWSER_JOB_MAPPING=(vector,(0,2,1))",
        "HAWSER_JOB_UNIVERSE_SIZE=2", "HAWSER_JOB_OWN_CORES=1", "HAWSER_JOB_CORES=3", "HAWSER_JOB_SURVIVE=0"})
    EXPECT_THAT(variables, Contains(std::string(expected)));
}

}  // namespace
}  // namespace hawser
