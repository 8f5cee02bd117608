#include "datatype/constructors.h"

#include "datatype/bounds.h"
#include "mpi/failure.h"

namespace hawser {
namespace {

Ref<const Datatype> ref(const Datatype& type) { return Ref<const Datatype>(&type); }

// Counts stand among the integers in the plain form and among the large counts in the large form.
std::vector<std::int64_t>& counts_of(TypeContents& contents, CountForm form) {
  return form == CountForm::plain ? contents.integers : contents.large_counts;
}
// Byte displacements stand among the addresses in the plain form.
std::vector<std::int64_t>& addresses_of(TypeContents& contents, CountForm form) {
  return form == CountForm::plain ? contents.addresses : contents.large_counts;
}

Result<> check_count(std::int64_t count, const char* what) {
  if (count < 0) return failure(ErrorClass::arg, "{} is negative: {}", what, count);
  return {};
}

Result<> check_block_lengths(Integers block_lengths) {
  for (std::size_t i = 0; i < block_lengths.size(); ++i)
    if (block_lengths[i] < 0)
      return failure(ErrorClass::arg, "block length {} is negative: {}", i, block_lengths[i]);
  return {};
}

Ref<const TypeMap> block_map(std::int64_t block_length, const Datatype& old) {
  return TypeMap::make_repeat(block_length, old.extent, old.map_);
}

// The stride is in units of `unit` bytes.
Result<Ref<Datatype>> strided_type(Combiner combiner, std::int64_t count, std::int64_t block_length,
                                   std::int64_t stride, std::int64_t unit, const Datatype& old,
                                   Ref<TypeContents> contents) {
  HAWSER_TRY(check_count(count, "count"));
  HAWSER_TRY(check_count(block_length, "block length"));
  Bounds bounds;
  const std::int64_t stride_bytes = bounds.arithmetic.multiply(stride, unit);
  if (count > 0) {
    bounds.place(old, 0, block_length);
    bounds.place(old, bounds.arithmetic.multiply(count - 1, stride_bytes), block_length);
  }
  auto map = TypeMap::make_repeat(count, stride_bytes, block_map(block_length, old));
  return finish_type(combiner, std::move(map), bounds, std::move(contents), &old);
}

// Displacements in units of `unit` bytes. One block length may serve for all.
Result<Ref<Datatype>> indexed_type(Combiner combiner, Integers block_lengths, Integers places,
                                   std::int64_t unit, const Datatype& old, Ref<TypeContents> contents) {
  HAWSER_TRY(check_block_lengths(block_lengths));
  Bounds bounds;
  std::vector<std::int64_t> displacements(places.size());
  for (std::size_t i = 0; i < places.size(); ++i)
    displacements[i] = bounds.arithmetic.multiply(places[i], unit);
  for (std::size_t i = 0; i < displacements.size(); ++i)
    bounds.place(old, displacements[i], block_lengths.size() == 1 ? block_lengths[0] : block_lengths[i]);
  auto map = TypeMap::make_indexed({block_lengths.begin(), block_lengths.end()}, std::move(displacements),
                                   old.extent, old.map_);
  return finish_type(combiner, std::move(map), bounds, std::move(contents), &old);
}

}  // namespace

Ref<TypeContents> contents_of(const Datatype& old) {
  auto contents = make_counted<TypeContents>();
  contents->types.push_back(ref(old));
  return contents;
}

Result<Ref<Datatype>> finish_type(Combiner combiner, Ref<const TypeMap> map, Bounds& bounds,
                                  Ref<TypeContents> contents, const Datatype* element) {
  auto type = make_counted<Datatype>();
  type->combiner = combiner;
  type->size = map->size;
  bounds.write_to(*type);
  if (map->overflow || bounds.arithmetic.overflow())
    return failure(ErrorClass::arg, "the size or extent of the type does not fit 64 bits");
  if (element != nullptr && map->elements > 0) {
    type->elementary = element->elementary;
    type->pair = element->pair;
  }
  type->map_ = std::move(map);
  type->contents_ = std::move(contents);
  return type;
}

Result<Ref<Datatype>> make_dup(const Datatype& old) {
  auto type = make_counted<Datatype>();
  type->size = old.size;
  type->lower_bound = old.lower_bound;
  type->extent = old.extent;
  type->true_lower_bound = old.true_lower_bound;
  type->true_extent = old.true_extent;
  type->count_bound = old.count_bound;
  type->contiguous = old.contiguous;
  type->committed = old.committed;
  type->combiner = Combiner::dup;
  type->elementary = old.elementary;
  type->pair = old.pair;
  type->alignment = old.alignment;
  type->lower_bound_is_set = old.lower_bound_is_set;
  type->upper_bound_is_set = old.upper_bound_is_set;
  type->map_ = old.map_;
  type->layout_ = old.layout_;
  type->contents_ = contents_of(old);
  return type;
}

Result<Ref<Datatype>> make_contiguous(std::int64_t count, const Datatype& old, CountForm form) {
  HAWSER_TRY(check_count(count, "count"));
  Bounds bounds;
  bounds.place(old, 0, count);
  auto contents = contents_of(old);
  counts_of(*contents, form) = {count};
  return finish_type(Combiner::contiguous, block_map(count, old), bounds, std::move(contents), &old);
}

Result<Ref<Datatype>> make_vector(std::int64_t count, std::int64_t block_length, std::int64_t stride,
                                  const Datatype& old, CountForm form) {
  auto contents = contents_of(old);
  counts_of(*contents, form) = {count, block_length, stride};
  return strided_type(Combiner::vector, count, block_length, stride, old.extent, old, std::move(contents));
}

Result<Ref<Datatype>> make_hvector(std::int64_t count, std::int64_t block_length, std::int64_t stride,
                                   const Datatype& old, CountForm form) {
  auto contents = contents_of(old);
  counts_of(*contents, form) = {count, block_length};
  addresses_of(*contents, form).push_back(stride);
  return strided_type(Combiner::hvector, count, block_length, stride, 1, old, std::move(contents));
}

Result<Ref<Datatype>> make_indexed(Integers block_lengths, Integers displacements, const Datatype& old,
                                   CountForm form) {
  auto contents = contents_of(old);
  auto& counts = counts_of(*contents, form);
  counts.push_back(static_cast<std::int64_t>(displacements.size()));
  append(counts, block_lengths);
  append(counts, displacements);
  return indexed_type(Combiner::indexed, block_lengths, displacements, old.extent, old, std::move(contents));
}

Result<Ref<Datatype>> make_hindexed(Integers block_lengths, Integers displacements, const Datatype& old,
                                    CountForm form) {
  auto contents = contents_of(old);
  auto& counts = counts_of(*contents, form);
  counts.push_back(static_cast<std::int64_t>(displacements.size()));
  append(counts, block_lengths);
  append(addresses_of(*contents, form), displacements);
  return indexed_type(Combiner::hindexed, block_lengths, displacements, 1, old, std::move(contents));
}

Result<Ref<Datatype>> make_indexed_block(std::int64_t block_length, Integers displacements,
                                         const Datatype& old, CountForm form) {
  auto contents = contents_of(old);
  auto& counts = counts_of(*contents, form);
  counts = {static_cast<std::int64_t>(displacements.size()), block_length};
  append(counts, displacements);
  return indexed_type(Combiner::indexed_block, {&block_length, 1}, displacements, old.extent, old,
                      std::move(contents));
}

Result<Ref<Datatype>> make_hindexed_block(std::int64_t block_length, Integers displacements,
                                          const Datatype& old, CountForm form) {
  auto contents = contents_of(old);
  counts_of(*contents, form) = {static_cast<std::int64_t>(displacements.size()), block_length};
  append(addresses_of(*contents, form), displacements);
  return indexed_type(Combiner::hindexed_block, {&block_length, 1}, displacements, 1, old,
                      std::move(contents));
}

Result<Ref<Datatype>> make_struct(Integers block_lengths, Integers displacements, Types types,
                                  CountForm form) {
  HAWSER_TRY(check_block_lengths(block_lengths));
  auto contents = make_counted<TypeContents>();
  auto& counts = counts_of(*contents, form);
  counts.push_back(static_cast<std::int64_t>(types.size()));
  append(counts, block_lengths);
  append(addresses_of(*contents, form), displacements);

  Bounds bounds;
  std::vector<std::int64_t> places;
  std::vector<Ref<const TypeMap>> maps;
  const Datatype* element = nullptr;
  bool mixed = false;
  for (std::size_t i = 0; i < types.size(); ++i) {
    const Datatype& part = *types[i];
    contents->types.push_back(ref(part));
    bounds.place(part, displacements[i], block_lengths[i]);
    if (block_lengths[i] == 0 || part.map().elements == 0) continue;
    places.push_back(displacements[i]);
    maps.push_back(block_map(block_lengths[i], part));
    if (element == nullptr) element = &part;
    mixed |= part.elementary != element->elementary || part.pair != element->pair;
  }
  auto map = maps.size() == 1 && places[0] == 0 ? maps[0]
                                                : TypeMap::make_structure(std::move(places), std::move(maps));
  return finish_type(Combiner::structure, std::move(map), bounds, std::move(contents),
                     mixed ? nullptr : element);
}

Result<Ref<Datatype>> make_resized(const Datatype& old, std::int64_t lower_bound, std::int64_t extent,
                                   CountForm form) {
  auto contents = contents_of(old);
  addresses_of(*contents, form) = {lower_bound, extent};
  Bounds bounds;
  bounds.place(old, 0, 1);
  bounds.set(lower_bound, lower_bound + extent);
  return finish_type(Combiner::resized, old.map_, bounds, std::move(contents), &old);
}

}  // namespace hawser
