#include "datatype/predefined.h"

#include <algorithm>

#include "datatype/bounds.h"

namespace hawser {
namespace {

Ref<Datatype> make_named(Ref<Datatype> type, const char* name) {
  type->predefined = true;
  type->name = name;
  type->commit();
  return type;
}

}  // namespace

Ref<Datatype> make_elementary_type(Elementary kind) {
  const ElementaryFacts& fact = facts(kind);
  auto type = make_counted<Datatype>();
  type->size = type->extent = type->true_extent = fact.size;
  type->elementary = kind;
  type->alignment = fact.alignment;
  type->map_ = kind == Elementary::none ? TypeMap::make_structure({}, {}) : TypeMap::make_element(kind);
  return type;
}

Ref<Datatype> make_pair_type(PairKinds kinds) {
  const Ref<Datatype> value = make_elementary_type(kinds.value);
  const Ref<Datatype> index = make_elementary_type(kinds.index);
  const std::int64_t alignment = index->alignment;
  const std::int64_t index_at = (value->size + alignment - 1) / alignment * alignment;
  Bounds bounds;
  bounds.place(*value, 0, 1);
  bounds.place(*index, index_at, 1);
  auto type = make_counted<Datatype>();
  bounds.write_to(*type);
  type->elementary = Elementary::pair;
  type->pair = kinds;
  type->map_ = TypeMap::make_structure({0, index_at}, {value->map_, index->map_});
  type->size = type->map_->size;
  type->predefined = true;
  type->commit();
  return type;
}

PredefinedTypes::PredefinedTypes() {
  std::size_t next = 0;
#define HAWSER_PREDEFINED(enumerator, name, number, kind) \
  types_[next++] = make_named(make_elementary_type(Elementary::kind), "MPI_" #name);
#define HAWSER_PREDEFINED_PAIR(enumerator, name, number, value, index) \
  types_[next++] = make_named(make_pair_type({Elementary::value, Elementary::index}), "MPI_" #name);
#include "datatype/predefined_types.def"
#undef HAWSER_PREDEFINED
#undef HAWSER_PREDEFINED_PAIR
  // Markers without data; what they mark is 0 bytes from where they stand.
  (*this)[PredefinedType::lower_bound_marker].lower_bound_is_set = true;
  (*this)[PredefinedType::upper_bound_marker].upper_bound_is_set = true;
  // Of two names for one type, the standard calls these the type's and the others synonyms.
  (*this)[PredefinedType::long_long].name = "MPI_LONG_LONG_INT";
  (*this)[PredefinedType::c_float_complex].name = "MPI_C_COMPLEX";
  (*this)[PredefinedType::c_float16].name = "MPIX_C_FLOAT16";
}

}  // namespace hawser
