#include "base/enum_names.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace hawser {
namespace {

enum class Colour : std::uint8_t { red, green = 3, dark_blue };
class Holder {
 public:
  enum class Kind { first, second };
};

TEST(EnumNames, AreTheWordsOfTheSource) {
  EXPECT_STREQ(enum_name(Colour::red), "red");
  EXPECT_STREQ(enum_name(Colour::dark_blue), "dark_blue");
  EXPECT_STREQ(enum_name(Holder::Kind::second), "second");
  EXPECT_EQ(enumerators<Colour>, 3u);
}

TEST(EnumNames, OfOtherNumbersAreNone) {
  EXPECT_STREQ(enum_name(static_cast<Colour>(1)), "?");
  EXPECT_STREQ(enum_name(static_cast<Colour>(200)), "?");
}

TEST(EnumNames, AreReadBack) {
  EXPECT_EQ(enum_of<Colour>("green"), Colour::green);
  EXPECT_EQ(enum_of<Colour>("dark"), std::nullopt);
  EXPECT_EQ(enum_of<Colour>(""), std::nullopt);
}

TEST(EnumTexts, AreLookedUpByTheEnumerator) {
  static constexpr EnumTexts<Colour> texts{
      {{Colour::green, "as grass"}, {Colour::red, "as wine"}, {Colour::dark_blue, "as night"}}};
  EXPECT_STREQ(texts(Colour::red), "as wine");
  EXPECT_STREQ(texts(Colour::dark_blue), "as night");
  EXPECT_STREQ(texts(static_cast<Colour>(2)), "?");
}

}  // namespace
}  // namespace hawser
