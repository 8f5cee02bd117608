// Predefined operators on every kind they are defined for, against results written out; who may use what;
// users' operators.
#include "datatype/operator.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>
#include "mpi/error_class.h"

#include "base/random.h"
#include "datatype/constructors.h"
#include "datatype/predefined.h"
#include "datatype/reduction_kernels.h"

namespace hawser {
namespace {

using enum PredefinedOperator;

class Operators : public testing::Test {
 protected:
  template <class T>
  std::vector<T> reduce(PredefinedOperator kind, PredefinedType type, std::vector<T> in,
                        std::vector<T> inout) {
    EXPECT_TRUE(operators_[kind].check(types_[type]));
    std::vector<T> apart(in.size());
    operators_[kind].combine(in.data(), inout.data(), apart.data(), static_cast<std::int64_t>(in.size()),
                             types_[type]);
    operators_[kind].reduce(in.data(), inout.data(), static_cast<std::int64_t>(in.size()), types_[type]);
    EXPECT_EQ(std::memcmp(apart.data(), inout.data(), in.size() * sizeof(T)), 0);
    return inout;
  }
  bool defined(PredefinedOperator kind, PredefinedType type) {
    return static_cast<bool>(operators_[kind].check(types_[type]));
  }

  PredefinedTypes types_;
  PredefinedOperators operators_;
};

TEST_F(Operators, Integers) {
  using V = std::vector<int>;
  const auto type = PredefinedType::plain_int;
  EXPECT_EQ(reduce(sum, type, V{1, -5, INT_MAX}, V{2, 7, 1}), (V{3, 2, INT_MIN}));
  EXPECT_EQ(reduce(prod, type, V{3, -5, 0}, V{2, 7, 1}), (V{6, -35, 0}));
  EXPECT_EQ(reduce(min, type, V{3, -5, 0}, V{2, 7, 1}), (V{2, -5, 0}));
  EXPECT_EQ(reduce(max, type, V{3, -5, 0}, V{2, 7, 1}), (V{3, 7, 1}));
  EXPECT_EQ(reduce(band, type, V{6, 5}, V{3, 1}), (V{2, 1}));
  EXPECT_EQ(reduce(bor, type, V{6, 5}, V{3, 1}), (V{7, 5}));
  EXPECT_EQ(reduce(bxor, type, V{6, 5}, V{3, 1}), (V{5, 4}));
  EXPECT_EQ(reduce(land, type, V{6, 0, 0}, V{256, 1, 0}), (V{1, 0, 0}));
  EXPECT_EQ(reduce(lor, type, V{6, 0, 0}, V{256, 1, 0}), (V{1, 1, 0}));
  EXPECT_EQ(reduce(lxor, type, V{6, 0, 0}, V{256, 1, 0}), (V{0, 1, 0}));
}

TEST_F(Operators, SignednessMatters) {
  using S = std::vector<std::int8_t>;
  using U = std::vector<std::uint8_t>;
  EXPECT_EQ(reduce(max, PredefinedType::signed_char, S{-1}, S{1}), S{1});
  EXPECT_EQ(reduce(max, PredefinedType::unsigned_char, U{255}, U{1}), U{255});
  EXPECT_EQ(reduce(prod, PredefinedType::uint16, std::vector<std::uint16_t>{65535},
                   std::vector<std::uint16_t>{65535}),
            std::vector<std::uint16_t>{1});
}

TEST_F(Operators, FloatingPoint) {
  EXPECT_EQ(reduce(sum, PredefinedType::double_float, std::vector{1.5}, std::vector{2.25}),
            std::vector{3.75});
  EXPECT_EQ(reduce(prod, PredefinedType::real, std::vector{1.5f}, std::vector{2.0f}), std::vector{3.0f});
  EXPECT_EQ(reduce(min, PredefinedType::real2, std::vector{Float16(1.5)}, std::vector{Float16(-2.0)})[0],
            Float16(-2.0));
  EXPECT_TRUE(reduce(sum, PredefinedType::real16, std::vector{Float128(1)}, std::vector{Float128(2)})[0] ==
              Float128(3));
  long double in = 1.5L, inout = 2.0L;
  operators_[sum].reduce(&in, &inout, 1, types_[PredefinedType::long_double]);
  EXPECT_EQ(inout, 3.5L);
}

TEST_F(Operators, ComplexNumbers) {
  const auto type = PredefinedType::c_double_complex;
  using V = std::vector<double>;
  V in{1, 2}, inout{3, 4};
  operators_[prod].reduce(in.data(), inout.data(), 1, types_[type]);
  EXPECT_EQ(inout, (V{-5, 10}));
  operators_[sum].reduce(in.data(), inout.data(), 1, types_[type]);
  EXPECT_EQ(inout, (V{-4, 12}));
  EXPECT_FALSE(defined(min, type));
}

TEST_F(Operators, Locations) {
  struct DoubleInt {
    double value;
    int index;
    bool operator==(const DoubleInt&) const = default;
  };
  const DoubleInt a[] = {{1, 9}, {5, 2}, {3, 4}};
  const DoubleInt b[] = {{1, 3}, {4, 1}, {3, 8}};
  DoubleInt out[3] = {b[0], b[1], b[2]};
  operators_[minloc].reduce(a, out, 3, types_[PredefinedType::double_int]);
  EXPECT_EQ(out[0], (DoubleInt{1, 3}));
  EXPECT_EQ(out[1], (DoubleInt{4, 1}));
  EXPECT_EQ(out[2], (DoubleInt{3, 4}));
  operators_[maxloc].combine(a, b, out, 3, types_[PredefinedType::double_int]);
  EXPECT_EQ(out[0], (DoubleInt{1, 3}));
  EXPECT_EQ(out[1], (DoubleInt{5, 2}));
  EXPECT_FALSE(defined(minloc, PredefinedType::double_float));
  EXPECT_FALSE(defined(sum, PredefinedType::two_int));
  EXPECT_TRUE(defined(maxloc, PredefinedType::two_real));
}

TEST_F(Operators, DefinedAsTheStandardSays) {
  struct Group {
    PredefinedType type;
    const char* operators;  // + sum and prod, < min and max, & bitwise, ! logical
  };
  const Group groups[] = {
      {PredefinedType::plain_int, "+<&!"}, {PredefinedType::uint64, "+<&!"},
      {PredefinedType::integer, "+<&!"},   {PredefinedType::integer16, "+<&!"},
      {PredefinedType::aint, "+<&!"},      {PredefinedType::double_float, "+<"},
      {PredefinedType::real16, "+<"},      {PredefinedType::logical, "!"},
      {PredefinedType::c_bool, "!"},       {PredefinedType::complex, "+"},
      {PredefinedType::byte, "&"},         {PredefinedType::packed, "&"},
      {PredefinedType::character, "+<&!"}, {PredefinedType::wide_character, ""},
      {PredefinedType::float_int, ""},
  };
  for (const Group& group : groups) {
    const auto has = [&](char c) { return std::strchr(group.operators, c) != nullptr; };
    SCOPED_TRACE(types_[group.type].name);
    for (const auto kind : {sum, prod}) EXPECT_EQ(defined(kind, group.type), has('+'));
    for (const auto kind : {min, max}) EXPECT_EQ(defined(kind, group.type), has('<'));
    for (const auto kind : {band, bor, bxor}) EXPECT_EQ(defined(kind, group.type), has('&'));
    for (const auto kind : {land, lor, lxor}) EXPECT_EQ(defined(kind, group.type), has('!'));
    EXPECT_FALSE(defined(replace, group.type));
    EXPECT_TRUE(operators_[replace].check_accumulate(types_[group.type]));
  }
}

TEST_F(Operators, RefusalsNameBoth) {
  const auto refused = operators_[band].check(types_[PredefinedType::double_float]);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().text, "MPI_BAND is not defined for MPI_DOUBLE");
  EXPECT_EQ(error_class_of(refused.error()), ErrorClass::op);
  const auto derived = make_contiguous(2, types_[PredefinedType::plain_int], CountForm::plain).value();
  EXPECT_FALSE(operators_[sum].check(*derived));
  EXPECT_TRUE(operators_[sum].check_accumulate(*derived));
}

TEST_F(Operators, VectorLoopsAgreeWithSingleSteps) {
  Random random(7);
  for (std::size_t i = 0; i < PredefinedTypes::size(); ++i)
    for (std::size_t j = 0; j < PredefinedOperators::size(); ++j) {
      Datatype& type = types_.at(i);
      const Operator& op = operators_.at(j);
      if (!op.check(type) || facts(type.elementary).element_class == ElementaryClass::floating ||
          facts(type.elementary).element_class == ElementaryClass::complex || type.size != type.extent)
        continue;
      constexpr std::int64_t count = 67;
      std::vector<std::byte> a(static_cast<std::size_t>(count * type.size)), b(a.size()), step(a.size());
      for (std::byte& byte : a) byte = static_cast<std::byte>(random.next());
      for (std::byte& byte : b) byte = static_cast<std::byte>(random.next());
      if (type.elementary == Elementary::pair) {
        // Any bytes would make numbers that are not equal to themselves.
        for (std::byte& byte : a) byte &= std::byte{0x3f};
        for (std::byte& byte : b) byte &= std::byte{0x3f};
      }
      for (std::int64_t k = 0; k < count; ++k)
        op.combine(a.data() + k * type.size, b.data() + k * type.size, step.data() + k * type.size, 1, type);
      op.reduce(a.data(), b.data(), count, type);
      EXPECT_EQ(b, step) << op.name() << " " << type.name;
    }
}

// Keeps the order of its operands visible: a op b = 10 a + b.
class TenTimesAndAdd final : public UserReduction {
 public:
  void reduce(const void* in, void* inout, std::int64_t count, Datatype&) override {
    ++calls;
    for (std::int64_t i = 0; i < count; ++i) {
      int& result = static_cast<int*>(inout)[i];
      result = 10 * static_cast<const int*>(in)[i] + result;
    }
  }
  std::int64_t count_limit() const override { return 4; }
  int calls = 0;
};

TEST_F(Operators, UsersFunctionsGetTheirOperandsInOrderAndInPieces) {
  const auto function = make_counted<TenTimesAndAdd>();
  const Operator op(function, false);
  EXPECT_FALSE(op.commutative());
  const std::vector<int> a{1, 2, 3, 4, 5, 6};
  std::vector<int> b{6, 5, 4, 3, 2, 1};
  std::vector<int> out(6);
  op.combine(a.data(), b.data(), out.data(), 6, types_[PredefinedType::plain_int]);
  EXPECT_EQ(out, (std::vector<int>{16, 25, 34, 43, 52, 61}));
  EXPECT_EQ(function->calls, 2);
  op.reduce(a.data(), b.data(), 6, types_[PredefinedType::plain_int]);
  EXPECT_EQ(b, out);
}

}  // namespace
}  // namespace hawser
