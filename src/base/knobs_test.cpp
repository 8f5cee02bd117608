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
      "HAWSER_RAIL_WATCHDOG=500: must be a time with its unit (ns, us, ms or s), such as 20us, 5ms or 2s");
  EXPECT_TRUE(parse({"HAWSER_RAIL_WATCHDOG=500ms"}));
  EXPECT_TRUE(parse({"HAWSER_RAIL_GIVE_UP=0"}));
}

TEST(Knobs, EveryDefaultParsesAndIsInRange) {
  for (const KnobInfo& knob : knob_infos()) {
    const std::string entry = knob.variable + "=" + knob.default_value;
    const auto parsed = parse({entry});
    EXPECT_TRUE(parsed) << entry << ": " << (parsed ? "" : parsed.error().text);
    EXPECT_FALSE(knob.doc.empty());
  }
}

TEST(KnobValue, Bytes) {
  EXPECT_EQ(parse_bytes("17"), 17);
  EXPECT_EQ(parse_bytes("64K"), 65536);
  EXPECT_EQ(parse_bytes("64KiB"), 65536);
  EXPECT_EQ(parse_bytes("2m"), 2 << 20);
  EXPECT_EQ(parse_bytes("1G"), 1 << 30);
  EXPECT_FALSE(parse_bytes("1T"));
  EXPECT_FALSE(parse_bytes(""));
  EXPECT_FALSE(parse_bytes("K"));
  EXPECT_FALSE(parse_bytes("99999999999999G"));
  EXPECT_EQ(format_bytes(65536), "64K");
  EXPECT_EQ(format_bytes(1025), "1025");
}

TEST(KnobValue, Duration) {
  EXPECT_EQ(parse_duration("5ns"), 5);
  EXPECT_EQ(parse_duration("0"), 0);
  EXPECT_FALSE(parse_duration("5"));
  EXPECT_FALSE(parse_duration("-5"));
  EXPECT_FALSE(parse_duration(""));
  EXPECT_EQ(parse_duration("20us"), 20'000);
  EXPECT_EQ(parse_duration("2s"), 2'000'000'000);
  EXPECT_FALSE(parse_duration("2h"));
  EXPECT_EQ(format_duration(1'500'000), "1500us");
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
