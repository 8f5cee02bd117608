// Subarray and darray (MPI-5.0 sections 5.1.3 and 5.1.4), built dimension by dimension from the one that
// varies fastest: after each step the map covers all faster dimensions of the array in full.
#include <algorithm>

#include "datatype/bounds.h"
#include "datatype/constructors.h"
#include "mpi/failure.h"

namespace hawser {
namespace {

// The map of one element moved to a displacement.
Ref<const TypeMap> moved(Ref<const TypeMap> map, std::int64_t displacement) {
  if (displacement == 0) return map;
  return TypeMap::make_structure({displacement}, {std::move(map)});
}

struct ArrayMap {
  Ref<const TypeMap> map;
  std::int64_t extent;  // bytes of the faster dimensions in full
};

// A type whose data were placed by hand: its bounds are the whole array, its true bounds are found from the
// map.
Result<Ref<Datatype>> finish_array(Combiner combiner, const ArrayMap& array, const Datatype& old,
                                   std::int64_t first, std::int64_t last, Bounds& bounds,
                                   Ref<TypeContents> contents) {
  if (array.map->elements > 0) {
    bounds.place(old, first, 1);
    bounds.place(old, last, 1);
  }
  bounds.set(0, array.extent);
  return finish_type(combiner, array.map, bounds, std::move(contents), &old);
}

Result<> check_subarray(Integers sizes, Integers subsizes, Integers starts) {
  if (sizes.empty()) return failure(ErrorClass::arg, "a subarray needs at least one dimension");
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < 1) return failure(ErrorClass::arg, "size {} of the array is {}", i, sizes[i]);
    if (subsizes[i] < 1 || subsizes[i] > sizes[i])
      return failure(ErrorClass::arg, "subsize {} is {}, not in 1..{}", i, subsizes[i], sizes[i]);
    if (starts[i] < 0 || starts[i] > sizes[i] - subsizes[i])
      return failure(ErrorClass::arg, "start {} is {}, not in 0..{}", i, starts[i], sizes[i] - subsizes[i]);
  }
  return {};
}

// What one process holds of one dimension: indices in blocks.
struct HeldBlocks {
  std::int64_t first = 0;      // index of the first block
  std::int64_t block = 0;      // indices in a block
  std::int64_t step = 0;       // from block to block
  std::int64_t whole = 0;      // number of whole blocks
  std::int64_t rest = 0;       // indices in the last, shorter block
  std::int64_t last() const {  // the highest index; only if any is held
    return rest > 0 ? first + whole * step + rest - 1 : first + (whole - 1) * step + block - 1;
  }
  bool empty() const { return whole == 0 && rest == 0; }
};

Result<HeldBlocks> held_blocks(const DistributedDimension& dimension, std::int64_t coordinate) {
  HeldBlocks held;
  std::int64_t block = dimension.argument;
  switch (dimension.distribution) {
    case Distribution::none:
      if (dimension.processes != 1)
        return failure(ErrorClass::arg, "a dimension that is not distributed has {} processes",
                       dimension.processes);
      block = dimension.size;
      break;
    case Distribution::block: {
      const std::int64_t least = (dimension.size + dimension.processes - 1) / dimension.processes;
      if (block == default_distribution_argument) block = least;
      if (block < least)
        return failure(ErrorClass::arg, "blocks of {} on {} processes do not cover a dimension of {}", block,
                       dimension.processes, dimension.size);
      break;
    }
    case Distribution::cyclic:
      if (block == default_distribution_argument) block = 1;
      break;
  }
  if (block < 1) return failure(ErrorClass::arg, "distribution argument {} is not positive", block);
  held.block = block;
  held.first = coordinate * block;
  held.step = dimension.processes * block;
  if (held.first >= dimension.size) return held;
  const std::int64_t remaining = dimension.size - held.first;
  held.whole = remaining / held.step;
  const std::int64_t tail = remaining - held.whole * held.step;
  if (tail >= block)
    ++held.whole;
  else
    held.rest = tail;
  return held;
}

// The map over one more, slower dimension.
Ref<const TypeMap> add_dimension(const ArrayMap& inner, const HeldBlocks& held) {
  std::vector<std::int64_t> places;
  std::vector<Ref<const TypeMap>> maps;
  const std::int64_t extent = inner.extent;
  if (held.whole > 0) {
    places.push_back(held.first * extent);
    maps.push_back(TypeMap::make_repeat(held.whole, held.step * extent,
                                        TypeMap::make_repeat(held.block, extent, inner.map)));
  }
  if (held.rest > 0) {
    places.push_back((held.first + held.whole * held.step) * extent);
    maps.push_back(TypeMap::make_repeat(held.rest, extent, inner.map));
  }
  return TypeMap::make_structure(std::move(places), std::move(maps));
}

Result<> check_darray(int processes, int rank, std::span<const DistributedDimension> dimensions) {
  if (processes < 1) return failure(ErrorClass::arg, "size of the process group is {}", processes);
  if (rank < 0 || rank >= processes)
    return failure(ErrorClass::arg, "rank {} is not in 0..{}", rank, processes - 1);
  if (dimensions.empty()) return failure(ErrorClass::arg, "a darray needs at least one dimension");
  std::int64_t grid = 1;
  for (const DistributedDimension& dimension : dimensions) {
    if (dimension.size < 1) return failure(ErrorClass::arg, "a global size is {}", dimension.size);
    if (dimension.processes < 1)
      return failure(ErrorClass::arg, "a dimension of the process grid is {}", dimension.processes);
    grid *= dimension.processes;
    if (grid > processes) break;
  }
  if (grid != processes)
    return failure(ErrorClass::arg, "the process grid does not have {} processes", processes);
  return {};
}

}  // namespace

Result<Ref<Datatype>> make_subarray(Integers sizes, Integers subsizes, Integers starts, ArrayOrder order,
                                    int order_number, const Datatype& old, CountForm form) {
  HAWSER_TRY(check_subarray(sizes, subsizes, starts));
  auto contents = contents_of(old);
  contents->integers.push_back(static_cast<std::int64_t>(sizes.size()));
  auto& counts = form == CountForm::plain ? contents->integers : contents->large_counts;
  append(counts, sizes);
  append(counts, subsizes);
  append(counts, starts);
  contents->integers.push_back(order_number);

  Bounds bounds;
  ArrayMap array{old.map_, old.extent};
  std::int64_t first = 0;
  std::int64_t last = 0;
  const std::size_t dimensions = sizes.size();
  for (std::size_t step = 0; step < dimensions; ++step) {
    const std::size_t i = order == ArrayOrder::fortran ? step : dimensions - 1 - step;
    first += starts[i] * array.extent;
    last += (starts[i] + subsizes[i] - 1) * array.extent;
    array.map = TypeMap::make_repeat(subsizes[i], array.extent, array.map);
    array.extent = bounds.arithmetic.multiply(array.extent, sizes[i]);
  }
  array.map = moved(std::move(array.map), first);
  return finish_array(Combiner::subarray, array, old, first, last, bounds, std::move(contents));
}

Result<Ref<Datatype>> make_darray(int processes, int rank, std::span<const DistributedDimension> dimensions,
                                  ArrayOrder order, int order_number, const Datatype& old, CountForm form) {
  HAWSER_TRY(check_darray(processes, rank, dimensions));
  auto contents = contents_of(old);
  const std::size_t count = dimensions.size();
  contents->integers = {processes, rank, static_cast<std::int64_t>(count)};
  auto& counts = form == CountForm::plain ? contents->integers : contents->large_counts;
  for (const auto& dimension : dimensions) counts.push_back(dimension.size);
  for (const auto& dimension : dimensions) contents->integers.push_back(dimension.distribution_number);
  for (const auto& dimension : dimensions) contents->integers.push_back(dimension.argument_number);
  for (const auto& dimension : dimensions) contents->integers.push_back(dimension.processes);
  contents->integers.push_back(order_number);

  // The process grid is in C order always, whatever the array's.
  std::vector<std::int64_t> coordinates(count);
  std::int64_t rest = rank;
  for (std::size_t i = count; i-- > 0;) {
    coordinates[i] = rest % dimensions[i].processes;
    rest /= dimensions[i].processes;
  }

  Bounds bounds;
  ArrayMap array{old.map_, old.extent};
  std::int64_t first = 0;
  std::int64_t last = 0;
  for (std::size_t step = 0; step < count; ++step) {
    const std::size_t i = order == ArrayOrder::fortran ? step : count - 1 - step;
    Result<HeldBlocks> held = held_blocks(dimensions[i], coordinates[i]);
    if (!held) return held.take_error();
    const HeldBlocks& blocks = held.value();
    if (!blocks.empty()) {
      first += blocks.first * array.extent;
      last += blocks.last() * array.extent;
    }
    const std::int64_t extent = bounds.arithmetic.multiply(array.extent, dimensions[i].size);
    array = {add_dimension(array, blocks), extent};
  }
  return finish_array(Combiner::darray, array, old, first, last, bounds, std::move(contents));
}

}  // namespace hawser
