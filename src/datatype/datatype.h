// Datatype: what one MPI datatype is (MPI-5.0 chapter 5). Immutable once made, but for its commit and its
// name; derived types keep the types they are made of. All byte counts are 64-bit. Knows nothing of
// handles, ABIs or processes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/byte_sequence.h"
#include "base/counted.h"
#include "datatype/contents.h"
#include "datatype/elementary.h"
#include "datatype/layout.h"
#include "datatype/type_map.h"

namespace hawser {

// The constructor that made a type (MPI-5.0 table 5.1); `named` for predefined ones.
enum class Combiner : std::uint8_t {
  named,
  dup,
  contiguous,
  vector,
  hvector,
  indexed,
  hindexed,
  indexed_block,
  hindexed_block,
  structure,
  subarray,
  darray,
  f90_real,
  f90_complex,
  f90_integer,
  resized,
  value_index,
};

// More bytes than any buffer has: addresses of user memory have at most 56 bits. Products of a count and a
// size up to this leave room for sums over all ranks in 64 bits.
inline constexpr std::int64_t largest_buffer = std::int64_t{1} << 56;

class Datatype final : public Counted {
 public:
  // Facts that every communication call reads first: kept together, in the first cache lines.
  std::int64_t size = 0;         // bytes of data in one element
  std::int64_t lower_bound = 0;  // bytes
  std::int64_t extent = 0;       // bytes, distance from one element to the next
  std::int64_t true_lower_bound = 0;
  std::int64_t true_extent = 0;
  // A buffer may have fewer elements than this; 0 until committed. So one comparison tells a count that is
  // negative or whose bytes no address space holds, and a type that may not be used yet.
  std::uint64_t count_bound = 0;
  // `count` elements are one piece of count*size bytes starting at buffer + true_lower_bound. Known when
  // committed; until then false.
  bool contiguous = false;
  bool committed = false;
  // Named, or a type that must not be freed by the user and that predefined operations accept as if it were
  // (MPI_Type_create_f90_*, MPI_Type_get_value_index).
  bool predefined = false;
  Combiner combiner = Combiner::named;
  // The elementary kind if all data are of one, else Elementary::none.
  Elementary elementary = Elementary::none;
  PairKinds pair;              // if elementary is Elementary::pair
  std::uint32_t handle = 0;    // number in the process's object table; used by binding/ only
  std::uint8_t alignment = 1;  // bytes, the strictest of its data
  // Bounds set by MPI_Type_create_resized (or array constructors) pass on to types made of this one.
  bool lower_bound_is_set = false;
  bool upper_bound_is_set = false;

  std::string name;
  Ref<Counted> attributes;  // kept and understood by communicator/

  std::int64_t upper_bound() const { return lower_bound + extent; }
  // Null until committed.
  const TypeLayout* layout() const { return layout_.get(); }
  const TypeMap& map() const { return *map_; }
  // Null for named types.
  const TypeContents* contents() const { return contents_.get(); }

  // Compiles the layout, and finds what depends on it; does nothing the second time.
  void commit();

  ~Datatype() override;

  // Set by the constructors in this room.
  Ref<const TypeMap> map_;
  Ref<TypeLayout> layout_;
  Ref<TypeContents> contents_;
};

}  // namespace hawser
