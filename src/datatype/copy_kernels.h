// The innermost loops of packing: rows of equal length between two places with a stride each.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hawser {

// Copies `count` rows of `bytes` bytes each; row i goes from from + i * from_stride to to + i * to_stride.
// Source and destination must not overlap.
void copy_rows(std::byte* to, std::int64_t to_stride, const std::byte* from, std::int64_t from_stride,
               std::int64_t bytes, std::int64_t count);

// The same for `plane_count` planes of `row_count` rows each.
struct Strides {
  std::int64_t row;
  std::int64_t plane;
};
void copy_planes(std::byte* to, Strides to_strides, const std::byte* from, Strides from_strides,
                 std::int64_t bytes, std::int64_t row_count, std::int64_t plane_count);

// Two rows of shortest_of_pair to longest_of_pair bytes that lie at places[0] and places[1] of each element.
struct RowPair {
  std::int64_t stride;  // from element to element
  std::int64_t places[2];
};
inline constexpr std::int64_t shortest_of_pair = 4, longest_of_pair = 64;
// The same as copy_rows for each of the two, in one pass over the memory.
void copy_row_pairs(std::byte* to, const RowPair& to_pair, const std::byte* from, const RowPair& from_pair,
                    const std::int64_t (&bytes)[2], std::int64_t count);

// Copies rows that lie one behind the other on one side and at offsets[i] on the other.
void gather_rows(std::byte* to, const std::byte* from, const std::int64_t* offsets, std::int64_t bytes,
                 std::int64_t count);
void scatter_rows(std::byte* to, const std::byte* from, const std::int64_t* offsets, std::int64_t bytes,
                  std::int64_t count);

// Copies runs of any length: run i has the bytes starts[i] to starts[i + 1] of the packed form, which begins
// at `to` or `from`, and lies at offsets[i] on the other side.
void gather_runs(std::byte* to, const std::byte* from, const std::int64_t* offsets,
                 const std::int64_t* starts, std::size_t count);
void scatter_runs(std::byte* to, const std::byte* from, const std::int64_t* offsets,
                  const std::int64_t* starts, std::size_t count);

// One short copy without the cost of a library call.
void copy_bytes(std::byte* to, const std::byte* from, std::int64_t bytes);

}  // namespace hawser
