#include "datatype/copy_kernels.h"

#include <cstring>
#include <type_traits>

namespace hawser {
namespace {

// Calls f with bytes as a constant where a constant length makes the copy a few instructions, else with 0.
template <class F>
inline void with_constant_length(std::int64_t bytes, F f) {
#define HAWSER_LENGTH(n) \
  case n:                \
    return f(std::integral_constant<std::size_t, n>{});
  switch (bytes) {
    HAWSER_LENGTH(1)
    HAWSER_LENGTH(2)
    HAWSER_LENGTH(3)
    HAWSER_LENGTH(4)
    HAWSER_LENGTH(5)
    HAWSER_LENGTH(6)
    HAWSER_LENGTH(7)
    HAWSER_LENGTH(8)
    HAWSER_LENGTH(10)
    HAWSER_LENGTH(12)
    HAWSER_LENGTH(14)
    HAWSER_LENGTH(16)
    HAWSER_LENGTH(20)
    HAWSER_LENGTH(24)
    HAWSER_LENGTH(28)
    HAWSER_LENGTH(32)
    HAWSER_LENGTH(40)
    HAWSER_LENGTH(48)
    HAWSER_LENGTH(56)
    HAWSER_LENGTH(64)
    HAWSER_LENGTH(80)
    HAWSER_LENGTH(96)
    HAWSER_LENGTH(128)
    default:
      return f(std::integral_constant<std::size_t, 0>{});
  }
#undef HAWSER_LENGTH
}

template <std::size_t N>
inline void copy_row(std::byte* to, const std::byte* from, std::int64_t bytes) {
  if constexpr (N != 0)
    std::memcpy(to, from, N);
  else
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
}

}  // namespace

void copy_rows(std::byte* __restrict to, std::int64_t to_stride, const std::byte* __restrict from,
               std::int64_t from_stride, std::int64_t bytes, std::int64_t count) {
  with_constant_length(bytes, [=](auto length) {
    constexpr std::size_t n = length();
    std::byte* __restrict out = to;
    const std::byte* __restrict in = from;
    std::int64_t i = 0;
    for (; i + 4 <= count; i += 4) {
      copy_row<n>(out, in, bytes);
      copy_row<n>(out + to_stride, in + from_stride, bytes);
      copy_row<n>(out + 2 * to_stride, in + 2 * from_stride, bytes);
      copy_row<n>(out + 3 * to_stride, in + 3 * from_stride, bytes);
      out += 4 * to_stride;
      in += 4 * from_stride;
    }
    for (; i < count; ++i) {
      copy_row<n>(out, in, bytes);
      out += to_stride;
      in += from_stride;
    }
  });
}

void gather_rows(std::byte* __restrict to, const std::byte* __restrict from, const std::int64_t* offsets,
                 std::int64_t bytes, std::int64_t count) {
  with_constant_length(bytes, [=](auto length) {
    for (std::int64_t i = 0; i < count; ++i) copy_row<length()>(to + i * bytes, from + offsets[i], bytes);
  });
}

void scatter_rows(std::byte* __restrict to, const std::byte* __restrict from, const std::int64_t* offsets,
                  std::int64_t bytes, std::int64_t count) {
  with_constant_length(bytes, [=](auto length) {
    for (std::int64_t i = 0; i < count; ++i) copy_row<length()>(to + offsets[i], from + i * bytes, bytes);
  });
}

void copy_bytes(std::byte* to, const std::byte* from, std::int64_t bytes) {
  const auto n = static_cast<std::size_t>(bytes);
  if (n > 32) {
    std::memcpy(to, from, n);
    return;
  }
  // Two copies that may overlap in the middle cover every length between powers of two.
  const auto ends = [&]<class Word>(Word) {
    Word first;
    Word last;
    std::memcpy(&first, from, sizeof(Word));
    std::memcpy(&last, from + n - sizeof(Word), sizeof(Word));
    std::memcpy(to, &first, sizeof(Word));
    std::memcpy(to + n - sizeof(Word), &last, sizeof(Word));
  };
  struct Wide {
    std::uint64_t words[2];
  };
  if (n >= 16) return ends(Wide{});
  if (n >= 8) return ends(std::uint64_t{});
  if (n >= 4) return ends(std::uint32_t{});
  if (n >= 2) return ends(std::uint16_t{});
  if (n == 1) *to = *from;
}

}  // namespace hawser
