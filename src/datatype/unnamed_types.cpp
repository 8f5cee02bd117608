#include "datatype/unnamed_types.h"

#include "datatype/constructors.h"
#include "datatype/predefined.h"
#include "datatype/reduction_kernels.h"
#include "mpi/failure.h"

namespace hawser {
namespace {

struct RealKind {
  int precision;  // decimal digits
  int range;      // decimal exponent
  Elementary real;
  Elementary complex;
};
constexpr RealKind real_kinds[] = {
    {6, 37, Elementary::float32, Elementary::complex_float32},
    {15, 307, Elementary::float64, Elementary::complex_float64},
    {18, 4931, Elementary::float80, Elementary::complex_float80},
    {33, 4931, Elementary::float128, Elementary::complex_float128},
};

struct IntegerKind {
  int range;
  Elementary kind;
};
constexpr IntegerKind integer_kinds[] = {{2, Elementary::int8},
                                         {4, Elementary::int16},
                                         {9, Elementary::int32},
                                         {18, Elementary::int64},
                                         {38, Elementary::int128}};

Result<const RealKind*> find_real_kind(int precision, int range) {
  if (precision == any_precision && range == any_precision)
    return failure(ErrorClass::arg, "neither precision nor range is given");
  for (const RealKind& kind : real_kinds)
    if (precision <= kind.precision && range <= kind.range) return &kind;
  return failure(ErrorClass::arg, "no real kind has precision {} and range {}", precision, range);
}

}  // namespace

Ref<Datatype> UnnamedTypes::find_or_make(const Key& key, Elementary kind,
                                         std::vector<std::int64_t> integers) {
  Ref<Datatype>& type = made_[key];
  if (!type) {
    type = make_elementary_type(kind);
    type->combiner = std::get<Combiner>(key);
    type->predefined = true;
    type->contents_ = make_counted<TypeContents>();
    type->contents_->integers = std::move(integers);
    type->commit();
  }
  return type;
}

Result<Ref<Datatype>> UnnamedTypes::f90_real(int precision, int range, int given_precision, int given_range) {
  const auto kind = find_real_kind(precision, range);
  if (!kind) return kind.error();
  return find_or_make({Combiner::f90_real, given_precision, given_range}, kind.value()->real,
                      {given_precision, given_range});
}

Result<Ref<Datatype>> UnnamedTypes::f90_complex(int precision, int range, int given_precision,
                                                int given_range) {
  const auto kind = find_real_kind(precision, range);
  if (!kind) return kind.error();
  return find_or_make({Combiner::f90_complex, given_precision, given_range}, kind.value()->complex,
                      {given_precision, given_range});
}

Result<Ref<Datatype>> UnnamedTypes::f90_integer(int range) {
  for (const IntegerKind& kind : integer_kinds)
    if (range <= kind.range) return find_or_make({Combiner::f90_integer, range, 0}, kind.kind, {range});
  return failure(ErrorClass::arg, "no integer kind has range {}", range);
}

Ref<Datatype> UnnamedTypes::pair(const Datatype& value, const Datatype& index) {
  struct NamedPair {
    PredefinedType value, index, pair;
  };
  using enum PredefinedType;
  constexpr NamedPair named_pairs[] = {
      {single_float, plain_int, float_int},
      {double_float, plain_int, double_int},
      {PredefinedType::long_int, plain_int, long_int_int},
      {plain_int, plain_int, two_int},
      {short_int, plain_int, short_int_int},
      {PredefinedType::long_double, plain_int, long_double_int},
      {real, real, two_real},
      {double_precision, double_precision, two_double_precision},
      {integer, integer, two_integer},
  };
  for (const NamedPair& pair : named_pairs)
    if (&value == &named_[pair.value] && &index == &named_[pair.index])
      return Ref<Datatype>(&named_[pair.pair]);

  const PairKinds kinds{value.elementary, index.elementary};
  if (find_location_kernel(PredefinedOperator::minloc, kinds) == nullptr) return nullptr;
  // Only the named pairs of Fortran have an index that is no integer (MPI-5.0 section 6.9.4).
  if (facts(kinds.index).element_class != ElementaryClass::integer) return nullptr;
  for (const Ref<Datatype>& made : pairs_)
    if (made->contents()->types[0].get() == &value && made->contents()->types[1].get() == &index) return made;
  Ref<Datatype> type = make_pair_type(kinds);
  type->combiner = Combiner::value_index;
  type->contents_ = make_counted<TypeContents>();
  type->contents_->types = {Ref<const Datatype>(&value), Ref<const Datatype>(&index)};
  pairs_.push_back(type);
  return type;
}

}  // namespace hawser
