#include "testbed/exec/rank_memory.h"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "testbed/exec/c_library.h"
#include "testbed/exec/shared_heap.h"

namespace hawser {
namespace {

constexpr std::size_t chunk = 256 * 1024;

std::byte* pointer(std::uint64_t address) { return reinterpret_cast<std::byte*>(address); }

}  // namespace

RankMemory::RankMemory(int ranks) : processes_(static_cast<std::size_t>(ranks)), buffer_(chunk) {}

bool RankMemory::reaches(int rank) const {
  // The process is a copy of this one, and so has this variable.
  std::byte here{}, there{};
  const iovec into{&there, 1}, from{&here, 1};
  return process_vm_readv(processes_[static_cast<std::size_t>(rank)], &into, 1, &from, 1, 0) == 1;
}

bool RankMemory::is_here(fabric::SpaceId rank, std::uint64_t address) const {
  return shared_heap::holds(pointer(address)) || processes_[rank] == c_library::process();
}

bool RankMemory::fetch(fabric::SpaceId rank, std::uint64_t address, std::byte* into,
                       std::size_t bytes) const {
  if (is_here(rank, address)) return std::memmove(into, pointer(address), bytes) != nullptr;
  const iovec here{into, bytes}, there{pointer(address), bytes};
  return process_vm_readv(processes_[rank], &here, 1, &there, 1, 0) == static_cast<ssize_t>(bytes);
}

bool RankMemory::store(fabric::SpaceId rank, std::uint64_t address, const std::byte* from,
                       std::size_t bytes) const {
  if (is_here(rank, address)) return std::memmove(pointer(address), from, bytes) != nullptr;
  const iovec here{const_cast<std::byte*>(from), bytes}, there{pointer(address), bytes};
  return process_vm_writev(processes_[rank], &here, 1, &there, 1, 0) == static_cast<ssize_t>(bytes);
}

fabric::DmaResult RankMemory::copy(fabric::SpaceId to, std::span<const fabric::Piece> destination,
                                   fabric::SpaceId from, std::span<const fabric::Piece> source) {
  std::size_t into = 0, out = 0;
  std::uint64_t into_offset = 0, out_offset = 0;
  while (into < destination.size() && out < source.size()) {
    const std::uint64_t target = destination[into].address + into_offset;
    const std::uint64_t origin = source[out].address + out_offset;
    std::uint64_t bytes = std::min(destination[into].length - into_offset, source[out].length - out_offset);
    if (bytes > 0 && is_here(from, origin)) {
      if (!store(to, target, pointer(origin), bytes)) return fabric::DmaResult::destination_gone;
    } else if (bytes > 0 && is_here(to, target)) {
      if (!fetch(from, origin, pointer(target), bytes)) return fabric::DmaResult::lost;
    } else if (bytes > 0) {
      bytes = std::min<std::uint64_t>(bytes, chunk);
      if (!fetch(from, origin, buffer_.data(), bytes)) return fabric::DmaResult::lost;
      if (!store(to, target, buffer_.data(), bytes)) return fabric::DmaResult::destination_gone;
    }
    into_offset += bytes;
    out_offset += bytes;
    if (into_offset == destination[into].length) ++into, into_offset = 0;
    if (out_offset == source[out].length) ++out, out_offset = 0;
  }
  return fabric::DmaResult::done;
}

bool RankMemory::read(fabric::SpaceId from, std::span<const fabric::Piece> source, std::byte* out) {
  for (const fabric::Piece& piece : source) {
    if (piece.length > 0 && !fetch(from, piece.address, out, piece.length)) return false;
    out += piece.length;
  }
  return true;
}

fabric::DmaResult RankMemory::write(fabric::SpaceId to, std::span<const fabric::Piece> destination,
                                    const std::byte* in) {
  for (const fabric::Piece& piece : destination) {
    if (piece.length > 0 && !store(to, piece.address, in, piece.length))
      return fabric::DmaResult::destination_gone;
    in += piece.length;
  }
  return fabric::DmaResult::done;
}

}  // namespace hawser
