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

// Copies rows that lie one behind the other on one side and at offsets[i] on the other.
void gather_rows(std::byte* to, const std::byte* from, const std::int64_t* offsets, std::int64_t bytes,
                 std::int64_t count);
void scatter_rows(std::byte* to, const std::byte* from, const std::int64_t* offsets, std::int64_t bytes,
                  std::int64_t count);

// One short copy without the cost of a library call.
void copy_bytes(std::byte* to, const std::byte* from, std::int64_t bytes);

}  // namespace hawser
