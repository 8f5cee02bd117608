// Place: a typed buffer of the program, and how its data get in and out.
#pragma once

#include <cstddef>
#include <cstdint>

#include "collective/call.h"

namespace hawser {

struct Place {
  std::byte* buffer = nullptr;
  std::int64_t count = 0;
  const Datatype* type = nullptr;

  std::int64_t bytes() const { return count * type->size; }
  // Its data are one piece of memory, at first_byte().
  bool plain() const { return type->contiguous || bytes() == 0; }
  std::byte* first_byte() const { return buffer + type->true_lower_bound; }
};

inline std::byte* address(const void* buffer) { return static_cast<std::byte*>(const_cast<void*>(buffer)); }

inline bool is_in_place(const CallSide& side) { return side.buffer == in_place; }
inline Place whole(const CallSide& side) { return {address(side.buffer), side.count, side.type}; }

// The block of a rank, in the forms with one count, with counts, and with types.
Place block(const CallSide& side, int rank);

void pack(const Place& from, std::byte* to);
void unpack(const std::byte* from, const Place& to);
// Up to the shorter; the places may be the same.
void copy(const Place& from, const Place& to);

}  // namespace hawser
