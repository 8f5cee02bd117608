// The examples of MPI-5.0 chapter 5, the rules of bounds, contents, and arguments that must be refused.
#include "datatype/constructors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "datatype/predefined.h"
#include "datatype/type_packer.h"

namespace hawser {
namespace {

using Numbers = std::vector<std::int64_t>;

class Constructors : public testing::Test {
 protected:
  Datatype& type(PredefinedType which) { return types_[which]; }
  Datatype& int_type() { return types_[PredefinedType::plain_int]; }
  Datatype& double_type() { return types_[PredefinedType::double_float]; }
  Datatype& char_type() { return types_[PredefinedType::character]; }

  // {(double, 0), (char, 8)} of extent 16: the type of most examples.
  Ref<Datatype> double_and_char() {
    return make_struct(Numbers{1, 1}, Numbers{0, 8}, std::vector<Datatype*>{&double_type(), &char_type()},
                       CountForm::plain)
        .value();
  }

  PredefinedTypes types_;
};

// Where the data of one element lie, as bytes in packed order.
Numbers places(Datatype& type) {
  type.commit();
  std::vector<std::byte> memory(4096);
  constexpr std::int64_t origin = 2048;
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<std::byte>(i & 0xff);
  std::vector<std::byte> high(memory.size());
  for (std::size_t i = 0; i < memory.size(); ++i) high[i] = static_cast<std::byte>(i >> 8);
  std::vector<std::byte> low_packed(static_cast<std::size_t>(type.size));
  std::vector<std::byte> high_packed(static_cast<std::size_t>(type.size));
  TypePacker(memory.data() + origin, 1, type).pack(0, low_packed.data(), type.size);
  TypePacker(high.data() + origin, 1, type).pack(0, high_packed.data(), type.size);
  Numbers result;
  for (std::size_t i = 0; i < low_packed.size(); ++i)
    result.push_back(static_cast<std::int64_t>(low_packed[i]) +
                     256 * static_cast<std::int64_t>(high_packed[i]) - origin);
  return result;
}

// The bytes of data of the given sizes at the given displacements.
Numbers bytes_at(std::initializer_list<std::pair<std::int64_t, std::int64_t>> data) {
  Numbers result;
  for (const auto& [displacement, size] : data)
    for (std::int64_t i = 0; i < size; ++i) result.push_back(displacement + i);
  return result;
}

TEST_F(Constructors, StructIsPaddedToItsAlignment) {
  const Ref<Datatype> pair = double_and_char();
  EXPECT_EQ(pair->size, 9);
  EXPECT_EQ(pair->extent, 16);
  EXPECT_EQ(pair->true_extent, 9);
  EXPECT_EQ(places(*pair), bytes_at({{0, 8}, {8, 1}}));
}

TEST_F(Constructors, ContiguousConcatenates) {
  const Ref<Datatype> three = make_contiguous(3, *double_and_char(), CountForm::plain).value();
  EXPECT_EQ(three->extent, 48);
  EXPECT_EQ(places(*three), bytes_at({{0, 8}, {8, 1}, {16, 8}, {24, 1}, {32, 8}, {40, 1}}));
}

TEST_F(Constructors, VectorHasBlocksAtAStride) {
  const Ref<Datatype> vector = make_vector(2, 3, 4, *double_and_char(), CountForm::plain).value();
  EXPECT_EQ(vector->extent, 7 * 16);
  EXPECT_EQ(places(*vector), bytes_at({{0, 8},
                                       {8, 1},
                                       {16, 8},
                                       {24, 1},
                                       {32, 8},
                                       {40, 1},
                                       {64, 8},
                                       {72, 1},
                                       {80, 8},
                                       {88, 1},
                                       {96, 8},
                                       {104, 1}}));
}

TEST_F(Constructors, VectorMayRunBackwards) {
  const Ref<Datatype> vector = make_vector(3, 1, -2, *double_and_char(), CountForm::plain).value();
  EXPECT_EQ(vector->lower_bound, -64);
  EXPECT_EQ(vector->extent, 80);
  EXPECT_EQ(places(*vector), bytes_at({{0, 8}, {8, 1}, {-32, 8}, {-24, 1}, {-64, 8}, {-56, 1}}));
}

TEST_F(Constructors, IndexedHasBlocksOfItsOwnLengths) {
  const Ref<Datatype> indexed =
      make_indexed(Numbers{3, 1}, Numbers{4, 0}, *double_and_char(), CountForm::plain).value();
  EXPECT_EQ(places(*indexed),
            bytes_at({{64, 8}, {72, 1}, {80, 8}, {88, 1}, {96, 8}, {104, 1}, {0, 8}, {8, 1}}));
  EXPECT_EQ(indexed->lower_bound, 0);
}

TEST_F(Constructors, StructOfStructs) {
  const Ref<Datatype> inner = double_and_char();
  const Ref<Datatype> outer =
      make_struct(Numbers{2, 1, 3}, Numbers{0, 16, 26},
                  std::vector<Datatype*>{&type(PredefinedType::single_float), inner.get(), &char_type()},
                  CountForm::plain)
          .value();
  EXPECT_EQ(places(*outer), bytes_at({{0, 4}, {4, 4}, {16, 8}, {24, 1}, {26, 1}, {27, 1}, {28, 1}}));
  EXPECT_EQ(outer->extent, 32);
}

TEST_F(Constructors, ResizedBoundsReplaceOldOnesAndPassOn) {
  const Ref<Datatype> once = make_resized(int_type(), -3, 9, CountForm::plain).value();
  EXPECT_EQ(once->lower_bound, -3);
  EXPECT_EQ(once->extent, 9);
  EXPECT_EQ(once->true_lower_bound, 0);
  EXPECT_EQ(once->true_extent, 4);
  // The standard's example: type1 = {(lb, -3), (int, 0), (ub, 6)}, two of it.
  const Ref<Datatype> two = make_contiguous(2, *once, CountForm::plain).value();
  EXPECT_EQ(two->lower_bound, -3);
  EXPECT_EQ(two->upper_bound(), 15);
  EXPECT_EQ(places(*two), bytes_at({{0, 4}, {9, 4}}));
  const Ref<Datatype> again = make_resized(*two, 0, 4, CountForm::plain).value();
  EXPECT_EQ(again->extent, 4);
}

TEST_F(Constructors, OldMarkersOfMpich) {
  const Ref<Datatype> marked =
      make_struct(Numbers{1, 1, 1}, Numbers{-4, 0, 20},
                  std::vector<Datatype*>{&type(PredefinedType::lower_bound_marker), &int_type(),
                                         &type(PredefinedType::upper_bound_marker)},
                  CountForm::plain)
          .value();
  EXPECT_EQ(marked->lower_bound, -4);
  EXPECT_EQ(marked->extent, 24);
  EXPECT_EQ(marked->size, 4);
}

TEST_F(Constructors, TypesWithoutData) {
  for (const Ref<Datatype>& empty :
       {make_contiguous(0, int_type(), CountForm::plain).value(),
        make_vector(0, 3, 5, int_type(), CountForm::plain).value(),
        make_vector(4, 0, 5, int_type(), CountForm::plain).value(),
        make_indexed(Numbers{0, 0}, Numbers{7, 9}, int_type(), CountForm::plain).value(),
        make_struct(Numbers{}, Numbers{}, std::vector<Datatype*>{}, CountForm::plain).value()}) {
    empty->commit();
    EXPECT_EQ(empty->size, 0);
    EXPECT_EQ(empty->extent, 0);
    EXPECT_EQ(empty->lower_bound, 0);
    EXPECT_EQ(empty->true_extent, 0);
    TypePacker packer;
    EXPECT_EQ(describe(nullptr, 5, *empty, packer).size, 0);
  }
}

TEST_F(Constructors, EmptyBlocksDoNotMoveBounds) {
  const Ref<Datatype> indexed =
      make_indexed(Numbers{0, 2}, Numbers{-100, 3}, int_type(), CountForm::plain).value();
  EXPECT_EQ(indexed->lower_bound, 12);
  EXPECT_EQ(indexed->extent, 8);
}

TEST_F(Constructors, LargeCountsStaySmallInMemory) {
  const std::int64_t count = std::int64_t{1} << 40;
  const Ref<Datatype> vector = make_vector(count, 2, 3, int_type(), CountForm::large).value();
  vector->commit();
  EXPECT_EQ(vector->size, count * 8);
  EXPECT_EQ(vector->extent, (count - 1) * 12 + 8);
  EXPECT_EQ(vector->layout()->root->kind, LayoutNode::Kind::strided);
  EXPECT_EQ(elements_in(vector->map(), vector->size - 8), 2 * count - 2);
  EXPECT_FALSE(make_contiguous(std::int64_t{1} << 62, *vector, CountForm::large));
}

TEST_F(Constructors, LayoutsOfRegularIndexedTypesBecomeLoopsOrOneRun) {
  const Ref<Datatype> touching =
      make_indexed(Numbers{2, 3, 1}, Numbers{4, 6, 9}, int_type(), CountForm::plain).value();
  touching->commit();
  EXPECT_EQ(touching->layout()->root->kind, LayoutNode::Kind::run);
  EXPECT_TRUE(touching->contiguous);
  EXPECT_EQ(touching->true_lower_bound, 16);
  const Ref<Datatype> even =
      make_indexed(Numbers{2, 2, 2}, Numbers{0, 5, 10}, int_type(), CountForm::plain).value();
  even->commit();
  EXPECT_EQ(even->layout()->root->kind, LayoutNode::Kind::strided);
  EXPECT_FALSE(even->contiguous);
}

TEST_F(Constructors, ContentsOfEveryPlainForm) {
  const auto expect = [](const TypeContents& contents, const Numbers& integers, const Numbers& addresses,
                         const Numbers& large, std::size_t types) {
    EXPECT_EQ(contents.integers, integers);
    EXPECT_EQ(contents.addresses, addresses);
    EXPECT_EQ(contents.large_counts, large);
    EXPECT_EQ(contents.types.size(), types);
  };
  const auto plain = CountForm::plain;
  expect(*make_dup(int_type()).value()->contents(), {}, {}, {}, 1);
  expect(*make_contiguous(3, int_type(), plain).value()->contents(), {3}, {}, {}, 1);
  expect(*make_vector(3, 2, 5, int_type(), plain).value()->contents(), {3, 2, 5}, {}, {}, 1);
  expect(*make_hvector(3, 2, 50, int_type(), plain).value()->contents(), {3, 2}, {50}, {}, 1);
  expect(*make_indexed(Numbers{1, 2}, Numbers{5, 9}, int_type(), plain).value()->contents(), {2, 1, 2, 5, 9},
         {}, {}, 1);
  expect(*make_hindexed(Numbers{1, 2}, Numbers{5, 90}, int_type(), plain).value()->contents(), {2, 1, 2},
         {5, 90}, {}, 1);
  expect(*make_indexed_block(4, Numbers{5, 9}, int_type(), plain).value()->contents(), {2, 4, 5, 9}, {}, {},
         1);
  expect(*make_hindexed_block(4, Numbers{5, 90}, int_type(), plain).value()->contents(), {2, 4}, {5, 90}, {},
         1);
  expect(*double_and_char()->contents(), {2, 1, 1}, {0, 8}, {}, 2);
  expect(*make_resized(int_type(), -1, 7, plain).value()->contents(), {}, {-1, 7}, {}, 1);
  expect(*make_subarray(Numbers{4, 5}, Numbers{2, 3}, Numbers{1, 0}, ArrayOrder::c, 12, int_type(), plain)
              .value()
              ->contents(),
         {2, 4, 5, 2, 3, 1, 0, 12}, {}, {}, 1);
}

TEST_F(Constructors, ContentsOfLargeForms) {
  const auto large = CountForm::large;
  const auto hvector = make_hvector(3, 2, 50, int_type(), large).value();
  EXPECT_EQ(hvector->contents()->large_counts, (Numbers{3, 2, 50}));
  EXPECT_TRUE(hvector->contents()->integers.empty());
  EXPECT_TRUE(hvector->contents()->addresses.empty());
  const auto subarray =
      make_subarray(Numbers{4, 5}, Numbers{2, 3}, Numbers{1, 0}, ArrayOrder::c, 12, int_type(), large)
          .value();
  EXPECT_EQ(subarray->contents()->integers, (Numbers{2, 12}));
  EXPECT_EQ(subarray->contents()->large_counts, (Numbers{4, 5, 2, 3, 1, 0}));
}

TEST_F(Constructors, SubarrayInBothOrders) {
  const auto c = make_subarray(Numbers{4, 6}, Numbers{2, 3}, Numbers{1, 2}, ArrayOrder::c, 12, char_type(),
                               CountForm::plain)
                     .value();
  EXPECT_EQ(places(*c), (Numbers{8, 9, 10, 14, 15, 16}));
  EXPECT_EQ(c->extent, 24);
  EXPECT_EQ(c->lower_bound, 0);
  const auto fortran = make_subarray(Numbers{4, 6}, Numbers{2, 3}, Numbers{1, 2}, ArrayOrder::fortran, 15,
                                     char_type(), CountForm::plain)
                           .value();
  EXPECT_EQ(places(*fortran), (Numbers{9, 10, 13, 14, 17, 18}));
}

// Every process's part of a distributed array, element by element, by the definition of the distributions.
TEST_F(Constructors, DarrayPartsCoverTheArrayOnce) {
  struct Case {
    Distribution distribution[2];
    std::int64_t argument[2];
  };
  constexpr std::int64_t by_default = default_distribution_argument;
  const Case cases[] = {
      {{Distribution::block, Distribution::block}, {by_default, by_default}},
      {{Distribution::cyclic, Distribution::cyclic}, {by_default, 2}},
      {{Distribution::cyclic, Distribution::block}, {3, 6}},
      {{Distribution::block, Distribution::cyclic}, {4, 4}},
  };
  const std::int64_t sizes[2] = {7, 11}, grid[2] = {2, 3};
  for (const Case& one : cases)
    for (const ArrayOrder order : {ArrayOrder::c, ArrayOrder::fortran}) {
      std::vector<int> owners(77, -1);
      for (int rank = 0; rank < 6; ++rank) {
        std::vector<DistributedDimension> dimensions;
        for (int i = 0; i < 2; ++i)
          dimensions.push_back({sizes[i], one.distribution[i], one.argument[i], grid[i], 0, 0});
        const auto part = make_darray(6, rank, dimensions, order, 0, char_type(), CountForm::plain).value();
        EXPECT_EQ(part->extent, 77);
        EXPECT_EQ(part->lower_bound, 0);
        std::int64_t before = -1, least = 77, most = -1;
        for (const std::int64_t place : places(*part)) {
          EXPECT_LT(before, place) << "the parts are in the array's order";
          before = place;
          least = std::min(least, place);
          most = std::max(most, place);
          EXPECT_EQ(owners[static_cast<std::size_t>(place)], -1);
          owners[static_cast<std::size_t>(place)] = rank;
        }
        if (part->size > 0) {
          EXPECT_EQ(part->true_lower_bound, least);
          EXPECT_EQ(part->true_extent, most + 1 - least);
        }
      }
      for (std::int64_t row = 0; row < 7; ++row)
        for (std::int64_t column = 0; column < 11; ++column) {
          const std::int64_t index[2] = {row, column};
          std::int64_t coordinates[2];
          for (int i = 0; i < 2; ++i) {
            const std::int64_t least = (sizes[i] + grid[i] - 1) / grid[i];
            const bool block = one.distribution[i] == Distribution::block;
            const std::int64_t argument =
                one.argument[i] != by_default ? one.argument[i] : (block ? least : 1);
            coordinates[i] = index[i] / argument % grid[i];
          }
          const std::int64_t place = order == ArrayOrder::c ? row * 11 + column : column * 7 + row;
          EXPECT_EQ(owners[static_cast<std::size_t>(place)], coordinates[0] * 3 + coordinates[1]);
        }
    }
}

TEST_F(Constructors, WrongArgumentsAreNamed) {
  EXPECT_FALSE(make_contiguous(-1, int_type(), CountForm::plain));
  EXPECT_FALSE(make_vector(2, -1, 3, int_type(), CountForm::plain));
  const auto indexed = make_indexed(Numbers{1, -2}, Numbers{0, 4}, int_type(), CountForm::plain);
  ASSERT_FALSE(indexed);
  EXPECT_EQ(indexed.error().text, "block length 1 is negative: -2");
  EXPECT_FALSE(
      make_subarray(Numbers{4}, Numbers{3}, Numbers{2}, ArrayOrder::c, 12, int_type(), CountForm::plain));
  EXPECT_FALSE(
      make_subarray(Numbers{}, Numbers{}, Numbers{}, ArrayOrder::c, 12, int_type(), CountForm::plain));
}

TEST_F(Constructors, DerivedTypesKeepTheirParts) {
  Ref<Datatype> outer;
  {
    const Ref<Datatype> inner = double_and_char();
    outer = make_contiguous(2, *inner, CountForm::plain).value();
    EXPECT_EQ(inner->references(), 2u);
  }
  EXPECT_EQ(outer->contents()->types[0]->size, 9);
}

TEST_F(Constructors, PredefinedTypesAreAsInC) {
  struct DoubleInt {
    double value;
    int index;
  };
  struct LongDoubleInt {
    long double value;
    int index;
  };
  struct ShortInt {
    short value;
    int index;
  };
  EXPECT_EQ(type(PredefinedType::double_int).extent, static_cast<std::int64_t>(sizeof(DoubleInt)));
  EXPECT_EQ(type(PredefinedType::double_int).size, 12);
  EXPECT_FALSE(type(PredefinedType::double_int).contiguous);
  EXPECT_EQ(type(PredefinedType::long_double_int).extent, static_cast<std::int64_t>(sizeof(LongDoubleInt)));
  EXPECT_EQ(type(PredefinedType::short_int_int).extent, static_cast<std::int64_t>(sizeof(ShortInt)));
  EXPECT_TRUE(type(PredefinedType::float_int).contiguous);
  EXPECT_EQ(type(PredefinedType::two_int).name, "MPI_2INT");
  EXPECT_EQ(type(PredefinedType::c_long_double_complex).size, 32);
  for (std::size_t i = 0; i < PredefinedTypes::size(); ++i) {
    EXPECT_TRUE(types_.at(i).committed);
    // The standard ABI's numbers tell the size where bit 6 is set.
    const int number = predefined_type_numbers[i];
    if ((number & 0xffc0) == 0x240 || (number & 0xffc0) == 0x2c0) {
      EXPECT_EQ(types_.at(i).size, 1 << ((number >> 3) & 7)) << types_.at(i).name;
    }
  }
}

TEST_F(Constructors, UnnamedTypesAreGivenAgain) {
  UnnamedTypes& unnamed = types_.unnamed();
  const auto real = unnamed.f90_real(15, any_precision, 15, -32766).value();
  EXPECT_EQ(real->elementary, Elementary::float64);
  EXPECT_EQ(real->contents()->integers, (Numbers{15, -32766}));
  EXPECT_EQ(real.get(), unnamed.f90_real(15, any_precision, 15, -32766).value().get());
  EXPECT_EQ(unnamed.f90_complex(6, 37, 6, 37).value()->elementary, Elementary::complex_float32);
  EXPECT_EQ(unnamed.f90_real(33, 100, 33, 100).value()->elementary, Elementary::float128);
  EXPECT_FALSE(unnamed.f90_real(34, 100, 34, 100));
  EXPECT_FALSE(unnamed.f90_real(any_precision, any_precision, 0, 0));
  EXPECT_EQ(unnamed.f90_integer(5).value()->elementary, Elementary::int32);
  EXPECT_FALSE(unnamed.f90_integer(39));
  EXPECT_EQ(unnamed.pair(double_type(), int_type()).get(), &type(PredefinedType::double_int));
  const auto pair = unnamed.pair(type(PredefinedType::uint16), type(PredefinedType::int64));
  ASSERT_TRUE(pair);
  EXPECT_EQ(pair->size, 10);
  EXPECT_EQ(pair->extent, 16);
  EXPECT_EQ(pair->combiner, Combiner::value_index);
  EXPECT_FALSE(unnamed.pair(char_type(), int_type()));
}

TEST_F(Constructors, CountBoundsAreWhatMemoryHolds) {
  constexpr auto most = static_cast<std::uint64_t>(largest_buffer);
  EXPECT_EQ(char_type().count_bound, most + 1);
  EXPECT_EQ(double_type().count_bound, most / 8 + 1);
  const auto bound_of = [](Result<Ref<Datatype>> made) {
    EXPECT_EQ(made.value()->count_bound, 0u);  // until committed
    made.value()->commit();
    return made.value()->count_bound;
  };
  // No data and no way from one element to the next: as many as can be counted.
  EXPECT_EQ(bound_of(make_contiguous(0, int_type(), CountForm::large)), std::uint64_t{1} << 63);
  // The way between the elements limits, not their data; in either direction.
  EXPECT_EQ(bound_of(make_resized(char_type(), 0, 1 << 20, CountForm::large)), most / (1 << 20) + 1);
  EXPECT_EQ(bound_of(make_resized(char_type(), 0, -(1 << 20), CountForm::large)), most / (1 << 20) + 1);
  // One element has no next one.
  EXPECT_EQ(bound_of(make_resized(char_type(), 0, largest_buffer * 2, CountForm::large)), 2u);
  // More data than memory in one element.
  EXPECT_EQ(bound_of(make_contiguous(largest_buffer + 1, char_type(), CountForm::large)), 1u);
  EXPECT_EQ(make_dup(double_type()).value()->count_bound, double_type().count_bound);
}

// The bounds of a nested type come from the type map of basic types (MPI-5.0 sections 5.1.2 and 5.1.7): what
// pads the inner type at its end does not count where nothing follows it.
TEST_F(Constructors, PaddingInsideNestedTypesIsNoData) {
  const Ref<Datatype> inner = make_hvector(3, 4, 25, int_type(), CountForm::plain).value();
  EXPECT_EQ(inner->true_extent, 66);
  EXPECT_EQ(inner->extent, 68);
  const Ref<Datatype> outer = make_hvector(2, 3, 4 * 68 + 1, *inner, CountForm::plain).value();
  const Numbers data = places(*outer);
  EXPECT_EQ(*std::max_element(data.begin(), data.end()) + 1, 475);
  EXPECT_EQ(outer->lower_bound, 0);
  EXPECT_EQ(outer->true_extent, 475);
  EXPECT_EQ(outer->extent, 476);
}

}  // namespace
}  // namespace hawser
