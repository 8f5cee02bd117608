// What the operations that reduce have in common. Private to shared/.
#pragma once

#include <algorithm>
#include <cstring>

#include "collective/call.h"

namespace hawser {

// The elements of a reduction: of types that lie in memory one after the other without gaps, or with the
// padding of a C struct, which is copied along.
struct Elements {
  Operator& op;
  Datatype& type;
  std::int64_t unit;  // bytes from one to the next

  void reduce(const std::byte* in, std::byte* inout, std::int64_t count) const {
    op.reduce(in, inout, count, type);
  }
  void combine(const std::byte* a, const std::byte* b, std::byte* out, std::int64_t count) const {
    op.combine(a, b, out, count, type);
  }
};

inline void copy_bytes(const std::byte* from, std::byte* to, std::int64_t bytes) {
  if (bytes > 0 && from != to) std::memcpy(to, from, static_cast<std::size_t>(bytes));
}

// out = operand(first) op ... op operand(last). `out` is none of the operands, unless there is only one.
template <class Operand>
void reduce_ranks(const Elements& elements, int first, int last, Operand operand, std::byte* out,
                  std::int64_t count) {
  if (first == last) return copy_bytes(operand(first), out, count * elements.unit);
  elements.combine(operand(last - 1), operand(last), out, count);
  for (int r = last - 2; r >= first; --r) elements.reduce(operand(r), out, count);
}

// Ranks 0, 1, ... in groups of so many.
struct InGroups {
  int ranks, group;
  int last = -1;  // a rank whose operand is added when all others are reduced; -1: there is none

  bool more_than_one() const { return group < ranks; }
};

// The same of all ranks, where each group is reduced for itself, and then what the groups have. Its scratch
// memory is none of the operands; one group needs none.
template <class Operand>
void reduce_groups(const Elements& elements, InGroups in, Operand operand, std::byte* scratch, std::byte* out,
                   std::int64_t count) {
  bool begun = false;
  for (int first = (in.ranks - 1) / in.group * in.group; first >= 0; first -= in.group) {
    const int end = std::min(first + in.group, in.ranks);
    const bool gap = first <= in.last && in.last < end;
    if (gap && end - first == 1) continue;
    const auto member = [&](int r) { return operand(gap && r >= in.last ? r + 1 : r); };
    reduce_ranks(elements, first, end - 1 - (gap ? 1 : 0), member, begun ? scratch : out, count);
    if (begun) elements.reduce(scratch, out, count);
    begun = true;
  }
  if (in.last >= 0) elements.reduce(operand(in.last), out, count);
}

// This rank's operand.
inline const std::byte* contribution(const CollectiveCall& call) {
  return static_cast<const std::byte*>(call.send.buffer == in_place ? call.receive.buffer : call.send.buffer);
}

inline std::byte* result(const CollectiveCall& call) {
  return static_cast<std::byte*>(const_cast<void*>(call.receive.buffer));
}

}  // namespace hawser
