#include "launch/mpiexec/fabric_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hawser {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view answer =
    "HAWSER_FABRIC=lab\nLD_LIBRARY_PATH+=/verbs\nhost n0\nHAWSER_FABRIC_HOST=n0\nhost n1\n"
    "HAWSER_FABRIC_HOST=n1\n";

TEST(FabricPlan, EveryHostHasItsVariables) {
  const auto plan = parse_fabric_plan(answer);
  ASSERT_TRUE(plan);
  ASSERT_NE(plan.value().find("n1"), nullptr);
  EXPECT_EQ(plan.value().find("n2"), nullptr);
  EXPECT_THAT(on_host(plan.value(), *plan.value().find("n1"), {"A=1"}),
              ElementsAre("A=1", "HAWSER_FABRIC=lab", "LD_LIBRARY_PATH=/verbs", "HAWSER_FABRIC_HOST=n1"));
}

TEST(FabricPlan, ListsKeepWhatTheyHave) {
  const auto plan = parse_fabric_plan(answer);
  const auto path = [&](std::string before) {
    return on_host(plan.value(), plan.value().hosts[0], {"HAWSER_FABRIC=old", before})[1];
  };
  EXPECT_EQ(path("LD_LIBRARY_PATH=/own"), "LD_LIBRARY_PATH=/verbs:/own");
  EXPECT_EQ(path("LD_LIBRARY_PATH=/verbs:/own"), "LD_LIBRARY_PATH=/verbs:/own") << "once is enough";
  EXPECT_EQ(path("LD_LIBRARY_PATH=/verbs"), "LD_LIBRARY_PATH=/verbs");
  EXPECT_EQ(path("LD_LIBRARY_PATH=/verbs2"), "LD_LIBRARY_PATH=/verbs:/verbs2");
  EXPECT_EQ(path("LD_LIBRARY_PATH="), "LD_LIBRARY_PATH=/verbs");
}

TEST(FabricPlan, OtherAnswersAreRefused) {
  EXPECT_THAT(parse_fabric_plan("").error().text, HasSubstr("no host"));
  EXPECT_THAT(parse_fabric_plan("host n0\nnonsense\n").error().text, HasSubstr("nonsense"));
}

}  // namespace
}  // namespace hawser
