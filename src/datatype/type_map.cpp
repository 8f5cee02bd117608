#include "datatype/type_map.h"

#include <algorithm>

namespace hawser {
namespace {

// total += count * each
void accumulate(std::int64_t& total, std::int64_t count, std::int64_t each, bool& overflow) {
  std::int64_t product = 0;
  overflow |= __builtin_mul_overflow(count, each, &product);
  overflow |= __builtin_add_overflow(total, product, &total);
}

void add_to_totals(TypeMap& map, std::int64_t count, const TypeMap& part) {
  map.overflow |= part.overflow;
  accumulate(map.size, count, part.size, map.overflow);
  accumulate(map.elements, count, part.elements, map.overflow);
}

}  // namespace

Ref<const TypeMap> TypeMap::make_element(Elementary kind) {
  auto map = make_counted<TypeMap>();
  map->kind = Kind::element;
  map->element = kind;
  map->size = facts(kind).size;
  map->elements = 1;
  return map;
}

Ref<const TypeMap> TypeMap::make_repeat(std::int64_t count, std::int64_t stride, Ref<const TypeMap> child) {
  if (count == 1) return child;
  auto map = make_counted<TypeMap>();
  map->kind = Kind::repeat;
  map->count = count;
  map->stride = stride;
  add_to_totals(*map, count, *child);
  map->child = std::move(child);
  return map;
}

Ref<const TypeMap> TypeMap::make_indexed(std::vector<std::int64_t> lengths,
                                         std::vector<std::int64_t> displacements, std::int64_t stride,
                                         Ref<const TypeMap> child) {
  auto map = make_counted<TypeMap>();
  map->kind = Kind::indexed;
  map->stride = stride;
  map->lengths = std::move(lengths);
  map->displacements = std::move(displacements);
  for (std::size_t i = 0; i < map->displacements.size(); ++i)
    add_to_totals(*map, map->length_of_block(i), *child);
  map->child = std::move(child);
  return map;
}

Ref<const TypeMap> TypeMap::make_structure(std::vector<std::int64_t> displacements,
                                           std::vector<Ref<const TypeMap>> children) {
  auto map = make_counted<TypeMap>();
  map->kind = Kind::structure;
  map->displacements = std::move(displacements);
  map->children = std::move(children);
  for (const auto& part : map->children) add_to_totals(*map, 1, *part);
  return map;
}

namespace {

// Walks the parts of a map in order; `visit(part, count)` answers true to stop there.
template <class Visit>
void for_each_part(const TypeMap& map, Visit visit) {
  switch (map.kind) {
    case TypeMap::Kind::element:
      return;
    case TypeMap::Kind::repeat:
      visit(*map.child, map.count);
      return;
    case TypeMap::Kind::indexed:
      for (std::size_t i = 0; i < map.displacements.size(); ++i)
        if (visit(*map.child, map.length_of_block(i))) return;
      return;
    case TypeMap::Kind::structure:
      for (const auto& part : map.children)
        if (visit(*part, std::int64_t{1})) return;
      return;
  }
}

}  // namespace

std::optional<std::int64_t> elements_in(const TypeMap& map, std::int64_t bytes) {
  if (bytes == map.size) return map.elements;
  if (bytes == 0) return 0;
  if (map.kind == TypeMap::Kind::element) return std::nullopt;
  std::optional<std::int64_t> total = 0;
  for_each_part(map, [&](const TypeMap& part, std::int64_t count) {
    if (part.size == 0) return false;
    const std::int64_t whole = std::min(count, bytes / part.size);
    *total += whole * part.elements;
    bytes -= whole * part.size;
    if (whole == count) return bytes == 0;
    const auto rest = elements_in(part, bytes);
    total = rest ? std::optional(*total + *rest) : std::nullopt;
    return true;
  });
  return total;
}

std::int64_t bytes_of_elements(const TypeMap& map, std::int64_t elements) {
  if (elements == map.elements) return map.size;
  std::int64_t total = 0;
  for_each_part(map, [&](const TypeMap& part, std::int64_t count) {
    if (part.elements == 0) return false;
    const std::int64_t whole = std::min(count, elements / part.elements);
    total += whole * part.size;
    elements -= whole * part.elements;
    if (whole == count) return elements == 0;
    total += bytes_of_elements(part, elements);
    return true;
  });
  return total;
}

}  // namespace hawser
