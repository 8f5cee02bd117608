// The type constructors of MPI-5.0 section 5.1. Every one checks its arguments, and answers a type that is
// not yet committed (but for duplicates of committed ones). Displacements and strides of the h-forms are
// bytes.
#pragma once

#include <cstdint>
#include <span>

#include "base/counted.h"
#include "base/result.h"
#include "datatype/datatype.h"

namespace hawser {

using Integers = std::span<const std::int64_t>;
inline void append(std::vector<std::int64_t>& to, Integers values) {
  to.insert(to.end(), values.begin(), values.end());
}
using Types = std::span<Datatype* const>;

Result<Ref<Datatype>> make_dup(const Datatype& old);
Result<Ref<Datatype>> make_contiguous(std::int64_t count, const Datatype& old, CountForm form);
Result<Ref<Datatype>> make_vector(std::int64_t count, std::int64_t block_length, std::int64_t stride,
                                  const Datatype& old, CountForm form);
Result<Ref<Datatype>> make_hvector(std::int64_t count, std::int64_t block_length, std::int64_t stride,
                                   const Datatype& old, CountForm form);
Result<Ref<Datatype>> make_indexed(Integers block_lengths, Integers displacements, const Datatype& old,
                                   CountForm form);
Result<Ref<Datatype>> make_hindexed(Integers block_lengths, Integers displacements, const Datatype& old,
                                    CountForm form);
Result<Ref<Datatype>> make_indexed_block(std::int64_t block_length, Integers displacements,
                                         const Datatype& old, CountForm form);
Result<Ref<Datatype>> make_hindexed_block(std::int64_t block_length, Integers displacements,
                                          const Datatype& old, CountForm form);
Result<Ref<Datatype>> make_struct(Integers block_lengths, Integers displacements, Types types,
                                  CountForm form);
Result<Ref<Datatype>> make_resized(const Datatype& old, std::int64_t lower_bound, std::int64_t extent,
                                   CountForm form);

// Which index varies slowest.
enum class ArrayOrder : std::uint8_t { c, fortran };

// `order_number` is given back by MPI_Type_get_contents as it came.
Result<Ref<Datatype>> make_subarray(Integers sizes, Integers subsizes, Integers starts, ArrayOrder order,
                                    int order_number, const Datatype& old, CountForm form);

enum class Distribution : std::uint8_t { none, block, cyclic };
inline constexpr std::int64_t default_distribution_argument = INT64_MIN;

struct DistributedDimension {
  std::int64_t size;  // of the global array
  Distribution distribution;
  std::int64_t argument;  // block size, or default_distribution_argument
  std::int64_t processes;
  // As the caller gave them, for MPI_Type_get_contents.
  int distribution_number;
  int argument_number;
};

Result<Ref<Datatype>> make_darray(int processes, int rank, std::span<const DistributedDimension> dimensions,
                                  ArrayOrder order, int order_number, const Datatype& old, CountForm form);

// Shared by the constructors: a type with this map, bounds and contents, unless the map overflows.
class Bounds;
Result<Ref<Datatype>> finish_type(Combiner combiner, Ref<const TypeMap> map, Bounds& bounds,
                                  Ref<TypeContents> contents, const Datatype* element);
Ref<TypeContents> contents_of(const Datatype& old);

}  // namespace hawser
