#include "fabric/adapter/dma_port.h"

#include <algorithm>
#include <cstring>

namespace hawser::fabric {
namespace {

std::byte* pointer(std::uint64_t address) {
  return reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(address));
}

}  // namespace

DmaResult LocalDmaPort::copy(SpaceId, std::span<const Piece> destination, SpaceId,
                             std::span<const Piece> source) {
  std::size_t to = 0, from = 0;
  std::uint64_t to_offset = 0, from_offset = 0;
  while (to < destination.size() && from < source.size()) {
    const std::uint64_t bytes =
        std::min(destination[to].length - to_offset, source[from].length - from_offset);
    // The two may overlap when a program writes to itself.
    if (bytes != 0)
      std::memmove(pointer(destination[to].address + to_offset), pointer(source[from].address + from_offset),
                   bytes);
    to_offset += bytes;
    from_offset += bytes;
    if (to_offset == destination[to].length) ++to, to_offset = 0;
    if (from_offset == source[from].length) ++from, from_offset = 0;
  }
  return DmaResult::done;
}

bool LocalDmaPort::read(SpaceId, std::span<const Piece> source, std::byte* out) {
  for (const Piece& piece : source) {
    if (piece.length == 0) continue;
    std::memcpy(out, pointer(piece.address), piece.length);
    out += piece.length;
  }
  return true;
}

DmaResult LocalDmaPort::write(SpaceId, std::span<const Piece> destination, const std::byte* in) {
  for (const Piece& piece : destination) {
    if (piece.length == 0) continue;
    std::memcpy(pointer(piece.address), in, piece.length);
    in += piece.length;
  }
  return DmaResult::done;
}

}  // namespace hawser::fabric
