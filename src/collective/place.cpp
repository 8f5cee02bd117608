#include "collective/place.h"

#include <algorithm>
#include <cstring>

#include "datatype/type_packer.h"

namespace hawser {

// Displacements are not looked at where the count is 0, and may be garbage there; hence the arithmetic
// without signs, which is also right relative to MPI_BOTTOM.
static std::byte* place_at(const void* buffer, std::int64_t displacement, std::int64_t unit) {
  return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(buffer) +
                                      static_cast<std::uintptr_t>(displacement) *
                                          static_cast<std::uintptr_t>(unit));
}

Place block(const CallSide& side, int rank) {
  const auto r = static_cast<std::size_t>(rank);
  if (side.types != nullptr)
    return {place_at(side.buffer, side.displacements[r], 1), side.counts[r], side.types[r]};
  if (side.counts)
    return {place_at(side.buffer, side.displacements[r], side.type->extent), side.counts[r], side.type};
  return {place_at(side.buffer, rank * side.count, side.type->extent), side.count, side.type};
}

void pack(const Place& from, std::byte* to) {
  if (from.bytes() == 0) return;
  if (from.plain()) {
    std::memcpy(to, from.first_byte(), static_cast<std::size_t>(from.bytes()));
  } else {
    TypePacker(from.buffer, from.count, *from.type).pack(0, to, from.bytes());
  }
}

void unpack(const std::byte* from, const Place& to) {
  if (to.bytes() == 0) return;
  if (to.plain()) {
    std::memcpy(to.first_byte(), from, static_cast<std::size_t>(to.bytes()));
  } else {
    TypePacker(to.buffer, to.count, *to.type).unpack(0, from, to.bytes());
  }
}

void copy(const Place& from, const Place& to) {
  const std::int64_t bytes = std::min(from.bytes(), to.bytes());
  if (bytes == 0) return;
  if (from.plain() && to.plain()) {
    std::memmove(to.first_byte(), from.first_byte(), static_cast<std::size_t>(bytes));
  } else {
    copy_typed(from.buffer, from.count, *from.type, to.buffer, to.count, *to.type);
  }
}

}  // namespace hawser
