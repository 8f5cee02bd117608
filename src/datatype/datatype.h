// Datatype: what one MPI datatype is (MPI-5.0 chapter 5). Immutable once made; derived types keep the
// types they are made of. All byte counts are 64-bit. Knows nothing of handles, ABIs or processes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/byte_sequence.h"
#include "base/counted.h"
#include "datatype/elementary.h"

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

class TypeLayout;    // the compiled form that pack and unpack run (layout.h)
class TypeContents;  // the arguments of the constructor, for MPI_Type_get_contents (contents.h)

class Datatype final : public Counted {
 public:
  // Facts that every communication call reads first: kept together, in the first cache line.
  std::int64_t size = 0;         // bytes of data in one element
  std::int64_t lower_bound = 0;  // bytes
  std::int64_t extent = 0;       // bytes, distance from one element to the next
  std::int64_t true_lower_bound = 0;
  std::int64_t true_extent = 0;
  bool contiguous =
      false;  // `count` elements are one piece of count*size bytes starting at buffer + true_lower_bound
  bool committed = false;
  bool predefined = false;
  Combiner combiner = Combiner::named;
  // The elementary type if all data are of one, else Elementary::none (then no predefined operation fits).
  Elementary elementary = Elementary::none;
  std::uint32_t handle = 0;  // number in the process's object table; used by binding/ only

  std::string name;

  const TypeLayout* layout() const { return layout_.get(); }
  const TypeContents* contents() const { return contents_.get(); }

  ~Datatype() override;

  // Used by the constructors in this room.
  Ref<TypeLayout> layout_;
  Ref<TypeContents> contents_;
};

}  // namespace hawser
