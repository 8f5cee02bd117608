// Random nested types against the plain type maps of reference_types.h.
#include <gtest/gtest.h>

#include "base/function_ref.h"
#include "datatype/constructors.h"
#include "datatype/reference_types.h"
#include "datatype/type_packer.h"

namespace hawser {
namespace {

constexpr std::uint64_t first_seed = 1;
constexpr std::uint64_t seeds = 1500;

// Memory that any of the types' data lie in, around an origin.
class Memory {
 public:
  Memory(const reference::Type& type, std::int64_t count) {
    const std::int64_t shift = (count - 1) * type.extent();
    const std::int64_t low = std::min<std::int64_t>({0, type.true_lower(), type.true_lower() + shift});
    const std::int64_t high = std::max<std::int64_t>({0, type.true_upper(), type.true_upper() + shift});
    origin_ = 32 - low;
    bytes_.resize(static_cast<std::size_t>(high - low + 64));
  }
  void fill(Random& random) {
    for (std::byte& byte : bytes_) byte = static_cast<std::byte>(random.next());
  }
  std::byte* origin() { return bytes_.data() + origin_; }
  std::vector<std::byte>& bytes() { return bytes_; }

 private:
  std::int64_t origin_;
  std::vector<std::byte> bytes_;
};

void expect_same_facts(const Datatype& built, const reference::Type& expected) {
  EXPECT_EQ(built.size, expected.size());
  EXPECT_EQ(built.lower_bound, expected.lower());
  EXPECT_EQ(built.extent, expected.extent());
  EXPECT_EQ(built.true_lower_bound, expected.true_lower());
  EXPECT_EQ(built.true_extent, expected.true_upper() - expected.true_lower());
  EXPECT_EQ(built.map().elements, static_cast<std::int64_t>(expected.entries.size()));
}

// All of the packed form, moved in pieces at random offsets in random order.
void in_pieces(Random& random, std::int64_t size, FunctionRef<void(std::int64_t, std::int64_t)> move) {
  std::vector<std::int64_t> cuts = {0, size};
  for (std::uint64_t i = random.below(6); i > 0; --i)
    cuts.push_back(static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(size) + 1)));
  std::sort(cuts.begin(), cuts.end());
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i + 1 < cuts.size(); ++i)
    order.insert(order.begin() + static_cast<std::ptrdiff_t>(random.below(order.size() + 1)), i);
  for (const std::size_t i : order) move(cuts[i], cuts[i + 1] - cuts[i]);
}

TEST(RandomTypes, PackAsTheTypeMapSays) {
  const PredefinedTypes types;
  for (std::uint64_t seed = first_seed; seed < first_seed + seeds; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    reference::RandomTypes generator(types, seed, false);
    Random& random = generator.random();
    const auto [built, expected] = generator.make(static_cast<int>(random.below(4)));
    expect_same_facts(*built, expected);
    built->commit();
    const auto count = static_cast<std::int64_t>(random.below(20));
    Memory memory(expected, std::max<std::int64_t>(count, 1));
    memory.fill(random);
    const std::vector<std::byte> wanted = expected.pack(memory.origin(), count);
    TypePacker packer;
    const ByteSequence data = describe(memory.origin(), count, *built, packer);
    ASSERT_EQ(data.size, static_cast<std::int64_t>(wanted.size()));
    std::vector<std::byte> packed(wanted.size());
    if (data.contiguous()) {
      packed.assign(data.data, data.data + data.size);
    } else {
      in_pieces(random, data.size, [&](std::int64_t offset, std::int64_t bytes) {
        data.packer->pack(offset, packed.data() + offset, bytes);
      });
      std::vector<std::byte> in_blocks(wanted.size());
      in_pieces(random, data.size, [&](std::int64_t offset, std::int64_t bytes) {
        for (const std::int64_t end = offset + bytes; offset < end;) {
          const MemoryBlock block = data.packer->block(offset);
          ASSERT_GT(block.bytes, 0);
          const std::int64_t n = std::min(block.bytes, end - offset);
          std::memcpy(in_blocks.data() + offset, block.data, static_cast<std::size_t>(n));
          offset += n;
        }
      });
      ASSERT_EQ(in_blocks, wanted);
    }
    ASSERT_EQ(packed, wanted);
    if (HasFailure()) return;
  }
}

TEST(RandomTypes, UnpackWhatWasPackedAndNothingElse) {
  const PredefinedTypes types;
  for (std::uint64_t seed = first_seed; seed < first_seed + seeds; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    reference::RandomTypes generator(types, seed, true);
    Random& random = generator.random();
    const auto [built, expected] = generator.make(static_cast<int>(random.below(4)));
    expect_same_facts(*built, expected);
    built->commit();
    // Elements that overlap their successors cannot be received in numbers.
    const bool apart = expected.extent() >= expected.true_upper() - expected.true_lower();
    const std::int64_t count = apart ? static_cast<std::int64_t>(random.below(20)) : 1;
    Memory source(expected, std::max<std::int64_t>(count, 1));
    source.fill(random);
    const std::vector<std::byte> packed = expected.pack(source.origin(), count);
    Memory target(expected, std::max<std::int64_t>(count, 1));
    Memory wanted = target;
    for (std::int64_t i = 0; i < count; ++i)
      for (const reference::Entry& entry : expected.entries) {
        const std::int64_t at = i * expected.extent() + entry.displacement;
        std::memcpy(wanted.origin() + at, source.origin() + at, facts(entry.kind).size);
      }
    TypePacker packer(target.origin(), count, *built);
    in_pieces(random, packer.size(), [&](std::int64_t offset, std::int64_t bytes) {
      packer.unpack(offset, packed.data() + offset, bytes);
    });
    ASSERT_EQ(target.bytes(), wanted.bytes());
    Memory copy(expected, std::max<std::int64_t>(count, 1));
    copy_typed(source.origin(), count, *built, copy.origin(), count, *built);
    ASSERT_EQ(copy.bytes(), wanted.bytes());
    if (HasFailure()) return;
  }
}

// Their packing has a loop for each pair of classes of lengths.
TEST(RandomTypes, StructsOfTwoRunsOfAnyLength) {
  constexpr std::int64_t count = 5, longest = 70, gap = 3, extent = 2 * longest + gap;
  const PredefinedTypes types;
  std::vector<std::byte> memory(count * extent);
  Random random(1);
  for (std::byte& byte : memory) byte = static_cast<std::byte>(random.next());
  for (std::int64_t first = 1; first <= longest; ++first)
    for (std::int64_t second = 1; second <= longest; ++second) {
      const std::int64_t lengths[] = {first, second}, places[] = {0, first + gap};
      const auto runs =
          make_hindexed(lengths, places, types[PredefinedType::character], CountForm::plain).value();
      const auto type = make_resized(*runs, 0, extent, CountForm::plain).value();
      type->commit();
      std::vector<std::byte> wanted, back = memory;
      for (std::int64_t i = 0; i < count; ++i)
        for (const int run : {0, 1}) {
          const auto begin = memory.begin() + i * extent + places[run];
          wanted.insert(wanted.end(), begin, begin + lengths[run]);
          std::fill_n(back.begin() + i * extent + places[run], lengths[run], std::byte{0});
        }
      std::vector<std::byte> packed(wanted.size());
      TypePacker(memory.data(), count, *type).pack(0, packed.data(), count * type->size);
      ASSERT_EQ(packed, wanted) << first << ' ' << second;
      TypePacker(back.data(), count, *type).unpack(0, packed.data(), count * type->size);
      ASSERT_EQ(back, memory) << first << ' ' << second;
    }
}

TEST(RandomTypes, CountElementsOfParts) {
  const PredefinedTypes types;
  for (std::uint64_t seed = first_seed; seed < first_seed + seeds / 4; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    reference::RandomTypes generator(types, seed, false);
    const auto [built, expected] = generator.make(static_cast<int>(generator.random().below(4)));
    std::int64_t bytes = 0;
    std::int64_t elements = 0;
    ASSERT_EQ(elements_in(built->map(), 0), 0);
    for (const reference::Entry& entry : expected.entries) {
      ASSERT_EQ(bytes_of_elements(built->map(), elements), bytes);
      const std::int64_t size = facts(entry.kind).size;
      for (std::int64_t i = 1; i < size; ++i) ASSERT_EQ(elements_in(built->map(), bytes + i), std::nullopt);
      bytes += size;
      ++elements;
      ASSERT_EQ(elements_in(built->map(), bytes), elements);
    }
    ASSERT_EQ(bytes, built->size);
  }
}

}  // namespace
}  // namespace hawser
