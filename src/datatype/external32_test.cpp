#include "datatype/external32.h"

#include <gtest/gtest.h>

#include <cstring>

#include "datatype/constructors.h"
#include "datatype/predefined.h"
#include "datatype/reference_types.h"

namespace hawser {
namespace {

std::vector<int> bytes_of(const std::vector<std::byte>& bytes) {
  std::vector<int> result;
  for (const std::byte byte : bytes) result.push_back(static_cast<int>(byte));
  return result;
}

template <class T>
std::vector<int> in_external(T value, Datatype& type) {
  std::vector<std::byte> out(static_cast<std::size_t>(external_size(type)));
  pack_external(&value, 1, type, out.data());
  T back{};
  unpack_external(&back, 1, type, out.data());
  EXPECT_TRUE(back == value);
  return bytes_of(out);
}

TEST(External32, IsBigEndianAndHasItsOwnSizes) {
  PredefinedTypes types;
  using enum PredefinedType;
  EXPECT_EQ(in_external(0x01020304, types[plain_int]), (std::vector<int>{1, 2, 3, 4}));
  EXPECT_EQ(in_external(1.0, types[double_float]), (std::vector<int>{0x3f, 0xf0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(in_external(L'\x0102', types[wide_character]), (std::vector<int>{1, 2}));
  EXPECT_EQ(in_external(-2.0L, types[PredefinedType::long_double]),
            (std::vector<int>{0xc0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(in_external(1.5L, types[PredefinedType::long_double])[2], 0x80);
  EXPECT_EQ(in_external(-2L, types[PredefinedType::long_int]), (std::vector<int>{255, 255, 255, 254}));
  EXPECT_EQ(in_external(0xfffffffful, types[PredefinedType::unsigned_long])[0], 255);
  EXPECT_EQ(external_size(types[aint]), 8);
  EXPECT_EQ(external_size(types[c_long_double_complex]), 32);
  EXPECT_EQ(external_size(types[double_int]), 12);
}

TEST(External32, ComplexNumbersAreTwoNumbers) {
  PredefinedTypes types;
  const float values[4] = {1, 2, 3, 4};
  std::vector<std::byte> out(16);
  pack_external(values, 2, types[PredefinedType::c_float_complex], out.data());
  EXPECT_EQ(bytes_of(out),
            (std::vector<int>{0x3f, 0x80, 0, 0, 0x40, 0, 0, 0, 0x40, 0x40, 0, 0, 0x40, 0x80, 0, 0}));
  float back[4] = {};
  unpack_external(back, 2, types[PredefinedType::c_float_complex], out.data());
  EXPECT_EQ(std::memcmp(values, back, sizeof(values)), 0);
}

TEST(External32, RandomTypesComeBack) {
  const PredefinedTypes types;
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    reference::RandomTypes generator(types, seed, true);
    Random& random = generator.random();
    const auto [built, expected] = generator.make(static_cast<int>(random.below(4)));
    std::int64_t size = 0;
    for (const reference::Entry& entry : expected.entries) size += facts(entry.kind).external_size;
    ASSERT_EQ(external_size(*built), size);
    const std::int64_t low = std::min<std::int64_t>(expected.true_lower(), 0);
    std::vector<std::byte> from(
        static_cast<std::size_t>(std::max<std::int64_t>(expected.true_upper(), 0) - low));
    // Small numbers in every kind: zero bytes and ones are numbers in all of them.
    for (const reference::Entry& entry : expected.entries)
      if (facts(entry.kind).element_class != ElementaryClass::floating)
        from[static_cast<std::size_t>(entry.displacement - low)] = static_cast<std::byte>(random.below(256));
    std::vector<std::byte> to(from.size());
    std::vector<std::byte> between(static_cast<std::size_t>(size));
    pack_external(from.data() - low, 1, *built, between.data());
    std::int64_t at = 0;
    for (const reference::Entry& entry : expected.entries) {
      const ElementaryFacts& fact = facts(entry.kind);
      if (fact.size == fact.external_size) {
        ASSERT_EQ(between[static_cast<std::size_t>(at + fact.size - 1)],
                  from[static_cast<std::size_t>(entry.displacement - low)]);
      }
      at += fact.external_size;
    }
    unpack_external(to.data() - low, 1, *built, between.data());
    ASSERT_EQ(from, to);
  }
}

}  // namespace
}  // namespace hawser
