// TypeMap: the exact type map of a datatype (MPI-5.0 section 5.1), one element of it, in the compact form
// its constructor gave it. What must know the kinds of the data (external32, MPI_Get_elements) walks this;
// packing runs the LayoutNode compiled from it. Immutable; types share the maps they are made of.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/counted.h"
#include "datatype/elementary.h"

namespace hawser {

struct TypeMap final : Counted {
  enum class Kind : std::uint8_t {
    element,    // one datum of kind `element`
    repeat,     // `count` times `child`, `stride` bytes apart
    indexed,    // blocks of lengths[i] times `child`, `stride` bytes apart, each block at displacements[i]
    structure,  // children[i] at displacements[i]
  };
  Kind kind = Kind::structure;
  Elementary element = Elementary::none;
  bool overflow = false;      // the size of this or of a part does not fit 64 bits: must not be used
  std::int64_t size = 0;      // bytes of data
  std::int64_t elements = 0;  // data
  std::int64_t count = 0;
  std::int64_t stride = 0;  // bytes
  Ref<const TypeMap> child;
  std::vector<std::int64_t> displacements;  // bytes
  std::vector<std::int64_t> lengths;
  std::vector<Ref<const TypeMap>> children;

  static Ref<const TypeMap> make_element(Elementary kind);
  static Ref<const TypeMap> make_repeat(std::int64_t count, std::int64_t stride, Ref<const TypeMap> child);
  // Block i is lengths[i] long, or lengths[0] if that is the only one.
  static Ref<const TypeMap> make_indexed(std::vector<std::int64_t> lengths,
                                         std::vector<std::int64_t> displacements, std::int64_t stride,
                                         Ref<const TypeMap> child);
  static Ref<const TypeMap> make_structure(std::vector<std::int64_t> displacements,
                                           std::vector<Ref<const TypeMap>> children);

  std::int64_t length_of_block(std::size_t i) const { return lengths.size() == 1 ? lengths[0] : lengths[i]; }
};

// How many data lie wholly in the first `bytes` of the packed form (bytes <= map.size); nothing if the last
// of them is cut.
std::optional<std::int64_t> elements_in(const TypeMap& map, std::int64_t bytes);
// The size of the first `elements` data in packed form (elements <= map.elements).
std::int64_t bytes_of_elements(const TypeMap& map, std::int64_t elements);

}  // namespace hawser
