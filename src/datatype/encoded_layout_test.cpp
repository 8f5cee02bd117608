#include "datatype/encoded_layout.h"

#include <gtest/gtest.h>

#include "datatype/reference_types.h"
#include "datatype/type_packer.h"

namespace hawser {
namespace {

TEST(EncodedLayout, ReachesTheSameBytes) {
  const PredefinedTypes types;
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    reference::RandomTypes generator(types, seed, false);
    const auto [built, expected] = generator.make(static_cast<int>(generator.random().below(5)));
    built->commit();
    std::vector<std::byte> encoded;
    encode_layout(*built, encoded);
    auto decoded = decode_layout(encoded);
    ASSERT_TRUE(decoded);
    const Datatype& type = *decoded.value();
    EXPECT_EQ(type.size, built->size);
    EXPECT_EQ(type.extent, built->extent);
    constexpr std::int64_t count = 3;
    const std::int64_t shift = (count - 1) * type.extent;
    const std::int64_t low = std::min<std::int64_t>(type.true_lower_bound, type.true_lower_bound + shift);
    const std::int64_t high = type.true_lower_bound + type.true_extent + std::max<std::int64_t>(shift, 0);
    if (type.size == 0) continue;
    // Data of no bytes have a place in the type map, but none in the layout.
    EXPECT_GE(type.true_lower_bound, built->true_lower_bound);
    EXPECT_LE(type.true_extent, built->true_extent);
    std::vector<std::byte> memory(static_cast<std::size_t>(high - low));
    for (std::byte& byte : memory) byte = static_cast<std::byte>(generator.random().next());
    std::byte* const origin = memory.data() - low;
    TypePacker packer(origin, count, type);
    std::vector<std::byte> packed(static_cast<std::size_t>(packer.size()));
    packer.pack(0, packed.data(), packer.size());
    ASSERT_EQ(packed, expected.pack(origin, count));
  }
}

TEST(EncodedLayout, LoopsStayLoops) {
  const PredefinedTypes types;
  auto vector = make_vector(std::int64_t{1} << 40, 1, 2, types[PredefinedType::byte], CountForm::large);
  vector.value()->commit();
  std::vector<std::byte> encoded;
  encode_layout(*vector.value(), encoded);
  EXPECT_LT(encoded.size(), 100u);
  EXPECT_TRUE(decode_layout(encoded));
}

// Whatever comes in: an error, or a type whose data lie where its bounds say.
TEST(EncodedLayout, BytesThatAreNoneAreRefused) {
  const PredefinedTypes types;
  int refused = 0, taken = 0;
  for (std::uint64_t seed = 1; seed <= 4000; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    reference::RandomTypes generator(types, seed, false);
    Random& random = generator.random();
    const auto [built, expected] = generator.make(static_cast<int>(random.below(4)));
    built->commit();
    std::vector<std::byte> bytes;
    encode_layout(*built, bytes);
    constexpr std::int64_t values[] = {0, -1, 1, 2, 7, INT64_MAX, INT64_MIN, std::int64_t{1} << 40};
    for (std::uint64_t i = random.below(3); i > 0; --i) {
      const std::int64_t value = values[random.below(std::size(values))];
      std::memcpy(bytes.data() + random.below(bytes.size() / 8) * 8, &value, sizeof value);
    }
    if (random.chance(0.2)) bytes.resize(random.below(bytes.size() + 1));
    if (random.chance(0.1)) bytes.resize(bytes.size() + 8);
    auto decoded = decode_layout(bytes);
    ++(decoded ? taken : refused);
    if (!decoded) continue;
    const Datatype& type = *decoded.value();
    if (type.size == 0 || type.size > 1 << 16 || type.true_extent > 1 << 20) continue;
    std::vector<std::byte> memory(static_cast<std::size_t>(type.true_extent));
    std::vector<std::byte> packed(static_cast<std::size_t>(type.size));
    const auto origin =
        reinterpret_cast<std::uintptr_t>(memory.data()) - static_cast<std::uintptr_t>(type.true_lower_bound);
    TypePacker packer(reinterpret_cast<const void*>(origin), 1, type);
    packer.pack(0, packed.data(), type.size);
    packer.unpack(type.size / 2, packed.data(), type.size - type.size / 2);
  }
  EXPECT_GT(refused, 500);
  EXPECT_GT(taken, 500);
}

}  // namespace
}  // namespace hawser
