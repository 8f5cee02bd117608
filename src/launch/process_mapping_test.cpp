#include "launch/process_mapping.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hawser {
namespace {

using testing::ElementsAre;

TEST(ProcessMapping, BlocksOfRanks) {
  EXPECT_THAT(parse_process_mapping("(vector,(0,2,2))", 4).value(), ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(parse_process_mapping("(vector,(0,1,4),(1,2,1))", 6).value(), ElementsAre(0, 0, 0, 0, 1, 2));
}

TEST(ProcessMapping, BlocksRepeatCyclically) {
  EXPECT_THAT(parse_process_mapping("(vector,(0,2,1))", 5).value(), ElementsAre(0, 1, 0, 1, 0));
}

TEST(ProcessMapping, NodesAreNumberedByFirstRank) {
  EXPECT_THAT(parse_process_mapping("(vector,(7,1,1),(3,1,2))", 3).value(), ElementsAre(0, 1, 1));
}

TEST(ProcessMapping, BlanksAreAllowed) {
  EXPECT_THAT(parse_process_mapping("(vector, (0, 1, 2))", 2).value(), ElementsAre(0, 0));
}

TEST(ProcessMapping, MalformedIsAnError) {
  for (const char* text : {"", "(vector", "(vector,(0,1))", "(list,(0,1,1))", "(vector,(0,1,1)) x",
                           "(vector)", "(vector,(0,0,1))", "(vector,(0,1,-1))"})
    EXPECT_FALSE(parse_process_mapping(text, 1)) << text;
}

// What a launcher may say of nodes without ranks, or beyond all numbers, takes no time and no wrong turn.
TEST(ProcessMapping, NodesWithoutRanksAndNodesBeyondNumbers) {
  EXPECT_FALSE(parse_process_mapping("(vector,(0,2000000005,0))", 4));
  EXPECT_EQ(parse_process_mapping("(vector,(0,2000000005,0),(7,1,2))", 2).value(),
            (std::vector<std::int32_t>{0, 0}));
  EXPECT_FALSE(parse_process_mapping("(vector,(2147483647,2,1))", 2));
}

TEST(ProcessMapping, FormatAndParseAgree) {
  const std::vector<std::vector<std::int32_t>> mappings = {{0},          {0, 0, 0},       {0, 0, 1, 1, 2, 2},
                                                           {0, 1, 0, 1}, {0, 0, 0, 1, 2}, {0, 1, 1, 0, 2, 2}};
  for (const auto& nodes : mappings)
    EXPECT_EQ(parse_process_mapping(format_process_mapping(nodes), static_cast<int>(nodes.size())).value(),
              nodes);
  EXPECT_EQ(format_process_mapping(mappings[2]), "(vector,(0,3,2))");
}

}  // namespace
}  // namespace hawser
