#include "base/knobs.h"

#include <gtest/gtest.h>

#include "base/knob_value.h"

namespace hawser {
namespace {

Result<Knobs> parse(std::vector<std::string_view> environment) { return parse_knobs(environment); }

TEST(Knobs, DefaultsWithoutVariables) {
  const auto knobs = parse({"PATH=/bin", "HOME=/"});
  ASSERT_TRUE(knobs);
  EXPECT_FALSE(knobs.value().stats);
}

TEST(Knobs, VariableSetsItsKnob) {
  const auto knobs = parse({"HAWSER_STATS=on"});
  ASSERT_TRUE(knobs);
  EXPECT_TRUE(knobs.value().stats);
}

TEST(Knobs, InternalVariablesAreKnown) {
  EXPECT_TRUE(parse({"HAWSER_JOB_ID=x", "HAWSER_JOB_NODE_FD=4"}));
  EXPECT_TRUE(parse({"HAWSER_FABRIC=lab", "HAWSER_FABRIC_HOST=n0"}));
}

TEST(Knobs, UnknownNamesTheNearest) {
  const auto knobs = parse({"HAWSER_STAST=on"});
  ASSERT_FALSE(knobs);
  EXPECT_NE(knobs.error().text.find("HAWSER_STAST"), std::string::npos);
  EXPECT_NE(knobs.error().text.find("HAWSER_STATS "), std::string::npos);
}

TEST(Knobs, AWordInCommonIsNearerThanAFewLetters) {
  for (const char* entry : {"HAWSER_EAGER=1", "HAWSER_EAGER_LIMIT=1", "HAWSER_SHM_EAGER=1"}) {
    const auto knobs = parse({entry});
    ASSERT_FALSE(knobs);
    EXPECT_NE(knobs.error().text.find("HAWSER_SHM_EAGER_LIMIT "), std::string::npos) << knobs.error().text;
  }
}

TEST(Knobs, MalformedNamesVariableAndValue) {
  const auto knobs = parse({"HAWSER_STATS=perhaps"});
  ASSERT_FALSE(knobs);
  EXPECT_EQ(knobs.error().text, "HAWSER_STATS=perhaps: must be on or off");
}

TEST(Knobs, AChoiceNamesWhatThereIs) {
  const auto knobs = parse({"HAWSER_NETWORK=rail"});
  ASSERT_FALSE(knobs);
  EXPECT_EQ(knobs.error().text, "HAWSER_NETWORK=rail: must be one of auto, rails, socket");
}

TEST(Knobs, TimesNeedAUnit) {
  const auto knobs = parse({"HAWSER_RAIL_WATCHDOG=500"});
  ASSERT_FALSE(knobs);
  EXPECT_EQ(
      knobs.error().text,
      "HAWSER_RAIL_WATCHDOG=500: '500' is not a duration: its unit is missing at character 4; write a number "
      "with its unit such as 1.5ms, or 0 (units: ns, us, ms, s)");
  EXPECT_TRUE(parse({"HAWSER_RAIL_WATCHDOG=500ms"}));
  EXPECT_TRUE(parse({"HAWSER_RAIL_GIVE_UP=0"}));
}

TEST(Knobs, OutOfRangeNamesTheRange) {
  EXPECT_EQ(parse({"HAWSER_SHM_RING_SLOTS=5"}).error().text,
            "HAWSER_SHM_RING_SLOTS=5: '5' is not a number from 32 to 65536");
  EXPECT_EQ(parse({"HAWSER_SHM_PIECE=2G"}).error().text,
            "HAWSER_SHM_PIECE=2G: '2G' is not a number of bytes from 1K to 1M");
}

TEST(Knobs, EveryDefaultParsesAndIsInRange) {
  for (const KnobInfo& knob : knob_infos()) {
    const std::string entry = knob.variable + "=" + knob.default_value;
    const auto parsed = parse({entry});
    EXPECT_TRUE(parsed) << entry << ": " << (parsed ? "" : parsed.error().text);
    EXPECT_FALSE(knob.doc.empty());
  }
}

TEST(KnobValue, Choice) {
  EXPECT_TRUE(is_choice("b", "a|b|c"));
  EXPECT_TRUE(is_choice("c", "a|b|c"));
  EXPECT_FALSE(is_choice("", "a|b|c"));
  EXPECT_FALSE(is_choice("a|b", "a|b|c"));
}

TEST(KnobValue, EditDistance) {
  EXPECT_EQ(edit_distance("", "abc"), 3);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
  EXPECT_EQ(edit_distance("stast", "stats"), 1);
}

}  // namespace
}  // namespace hawser
