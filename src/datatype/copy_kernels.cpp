#include "datatype/copy_kernels.h"

#include <cstring>

#include "base/copy_memory.h"

namespace hawser {
namespace {

// How one row is copied. The loops below are compiled once for each of these.

// Rows of a length known to the compiler: a move or two.
template <std::size_t N>
struct Exactly {
  static constexpr std::int64_t length() { return N; }
  void operator()(std::byte* to, const std::byte* from) const { std::memcpy(to, from, N); }
};

// Rows of N to 2N bytes: the first N and the last N, which may overlap.
template <std::size_t N>
struct TwoEnds {
  std::int64_t bytes;
  std::int64_t length() const { return bytes; }
  void operator()(std::byte* to, const std::byte* from) const {
    struct Piece {
      std::byte data[N];
    };
    Piece first;
    Piece last;
    const std::int64_t rest = bytes - static_cast<std::int64_t>(N);
    std::memcpy(&first, from, N);
    std::memcpy(&last, from + rest, N);
    std::memcpy(to, &first, N);
    std::memcpy(to + rest, &last, N);
  }
};

// Rows of 64 bytes and more that are too short for a library call: pieces of 64 bytes, and one of `last`
// bytes that may overlap the one before.
template <std::int64_t last>
struct Pieces {
  std::int64_t bytes;
  std::int64_t length() const { return bytes; }
  void operator()(std::byte* to, const std::byte* from) const {
    std::int64_t at = 0;
    for (; at + 64 <= bytes; at += 64) std::memcpy(to + at, from + at, 64);
    std::memcpy(to + bytes - last, from + bytes - last, last);
  }
};

// Long rows, for which a library call is worthwhile.
struct AnyLength {
  std::int64_t bytes;
  std::int64_t length() const { return bytes; }
  void operator()(std::byte* to, const std::byte* from) const {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }
};

constexpr std::int64_t longest_in_pieces = 512;

// For rows of 4 to 64 bytes.
template <class F>
inline void with_two_ends(std::int64_t bytes, F f) {
  if (bytes < 8) return f(TwoEnds<4>{bytes});
  if (bytes < 16) return f(TwoEnds<8>{bytes});
  if (bytes <= 32) return f(TwoEnds<16>{bytes});
  return f(TwoEnds<32>{bytes});
}

template <class F>
inline void with_row_copier(std::int64_t bytes, F f) {
  switch (bytes) {
    case 0:
      return;
    case 1:
      return f(Exactly<1>{});
    case 2:
      return f(Exactly<2>{});
    case 3:
      return f(Exactly<3>{});
    case 4:
      return f(Exactly<4>{});
    case 8:
      return f(Exactly<8>{});
    case 12:
      return f(Exactly<12>{});
    case 16:
      return f(Exactly<16>{});
    case 24:
      return f(Exactly<24>{});
    case 32:
      return f(Exactly<32>{});
    case 48:
      return f(Exactly<48>{});
    case 64:
      return f(Exactly<64>{});
    case 128:
      return f(Exactly<128>{});
    case 256:
      return f(Exactly<256>{});
    default:
      break;
  }
  if (bytes < 64) return with_two_ends(bytes, f);
  if (bytes < 128) return f(TwoEnds<64>{bytes});
  if (bytes <= longest_in_pieces) {
    const std::int64_t rest = bytes % 64;
    return rest <= 16 ? f(Pieces<16>{bytes}) : rest <= 32 ? f(Pieces<32>{bytes}) : f(Pieces<64>{bytes});
  }
  return f(AnyLength{bytes});
}

template <class Copier>
inline void rows(Copier copy, std::byte* __restrict to, std::int64_t to_stride,
                 const std::byte* __restrict from, std::int64_t from_stride, std::int64_t count) {
  std::int64_t i = 0;
  // Longer rows gain nothing from it; those of 256 bytes lose a third.
  for (; copy.length() <= 16 && i + 4 <= count; i += 4) {
    copy(to, from);
    copy(to + to_stride, from + from_stride);
    copy(to + 2 * to_stride, from + 2 * from_stride);
    copy(to + 3 * to_stride, from + 3 * from_stride);
    to += 4 * to_stride;
    from += 4 * from_stride;
  }
  for (; i < count; ++i) {
    copy(to, from);
    to += to_stride;
    from += from_stride;
  }
}

// From how many rows on their loop is worth its own remainder loop.
constexpr std::int64_t long_rows = 128;

// The same for short loops called many times, where the ends of two loops would be mispredicted.
template <class Copier>
inline void short_rows(Copier copy, std::byte* __restrict to, std::int64_t to_stride,
                       const std::byte* __restrict from, std::int64_t from_stride, std::int64_t count) {
#pragma GCC unroll 2
  for (std::int64_t i = 0; i < count; ++i) copy(to + i * to_stride, from + i * from_stride);
}

template <class First, class Second>
inline void row_pairs(First first, Second second, std::byte* __restrict to, std::int64_t to_stride,
                      std::int64_t to_second, const std::byte* __restrict from, std::int64_t from_stride,
                      std::int64_t from_second, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    first(to, from);
    second(to + to_second, from + from_second);
    to += to_stride;
    from += from_stride;
  }
}

template <class Copier>
inline void gather(Copier copy, std::byte* __restrict to, const std::byte* __restrict from,
                   const std::int64_t* __restrict offsets, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) copy(to + i * copy.length(), from + offsets[i]);
}

template <class Copier>
inline void scatter(Copier copy, std::byte* __restrict to, const std::byte* __restrict from,
                    const std::int64_t* __restrict offsets, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) copy(to + offsets[i], from + i * copy.length());
}

inline void copy_run(std::byte* to, const std::byte* from, std::int64_t bytes) {
  if (bytes > 64) {
    if (bytes <= 128) return TwoEnds<64>{bytes}(to, from);
    copy_memory(to, from, static_cast<std::size_t>(bytes));
  } else if (bytes >= 16) {
    bytes >= 32 ? TwoEnds<32>{bytes}(to, from) : TwoEnds<16>{bytes}(to, from);
  } else if (bytes >= 4) {
    bytes >= 8 ? TwoEnds<8>{bytes}(to, from) : TwoEnds<4>{bytes}(to, from);
  } else if (bytes >= 2) {
    TwoEnds<2>{bytes}(to, from);
  } else if (bytes == 1) {
    *to = *from;
  }
}

}  // namespace

void copy_rows(std::byte* to, std::int64_t to_stride, const std::byte* from, std::int64_t from_stride,
               std::int64_t bytes, std::int64_t count) {
  with_row_copier(bytes, [=](auto copy) {
    // The packed side: its stride is known to the compiler where the length is.
    if (to_stride == copy.length())
      rows(copy, to, copy.length(), from, from_stride, count);
    else if (from_stride == copy.length())
      rows(copy, to, to_stride, from, copy.length(), count);
    else
      rows(copy, to, to_stride, from, from_stride, count);
  });
}

void copy_planes(std::byte* to, Strides to_strides, const std::byte* from, Strides from_strides,
                 std::int64_t bytes, std::int64_t row_count, std::int64_t plane_count) {
  with_row_copier(bytes, [=](auto copy) {
    std::byte* out = to;
    const std::byte* in = from;
    for (std::int64_t i = 0; i < plane_count; ++i) {
      if (row_count >= long_rows)
        rows(copy, out, to_strides.row, in, from_strides.row, row_count);
      else
        short_rows(copy, out, to_strides.row, in, from_strides.row, row_count);
      out += to_strides.plane;
      in += from_strides.plane;
    }
  });
}

void copy_row_pairs(std::byte* to, const RowPair& to_pair, const std::byte* from, const RowPair& from_pair,
                    const std::int64_t (&bytes)[2], std::int64_t count) {
  with_two_ends(bytes[0], [&](auto first) {
    with_two_ends(bytes[1], [&](auto second) {
      row_pairs(first, second, to + to_pair.places[0], to_pair.stride, to_pair.places[1] - to_pair.places[0],
                from + from_pair.places[0], from_pair.stride, from_pair.places[1] - from_pair.places[0],
                count);
    });
  });
}

void gather_rows(std::byte* to, const std::byte* from, const std::int64_t* offsets, std::int64_t bytes,
                 std::int64_t count) {
  with_row_copier(bytes, [=](auto copy) { gather(copy, to, from, offsets, count); });
}

void scatter_rows(std::byte* to, const std::byte* from, const std::int64_t* offsets, std::int64_t bytes,
                  std::int64_t count) {
  with_row_copier(bytes, [=](auto copy) { scatter(copy, to, from, offsets, count); });
}

void gather_runs(std::byte* __restrict to, const std::byte* __restrict from,
                 const std::int64_t* __restrict offsets, const std::int64_t* __restrict starts,
                 std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    copy_run(to + starts[i], from + offsets[i], starts[i + 1] - starts[i]);
}

void scatter_runs(std::byte* __restrict to, const std::byte* __restrict from,
                  const std::int64_t* __restrict offsets, const std::int64_t* __restrict starts,
                  std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    copy_run(to + offsets[i], from + starts[i], starts[i + 1] - starts[i]);
}

void copy_bytes(std::byte* to, const std::byte* from, std::int64_t bytes) { copy_run(to, from, bytes); }

}  // namespace hawser
