#include "testbed/emulator/process_dma.h"

#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace hawser::emulator {
namespace {

// What is read from one process and written to another stays in the core's cache on the way.
constexpr std::size_t chunk = 256 * 1024;
// Programs watch the end of what is written to them (Open MPI's eager RDMA): as with real adapters, it must
// come last. One copy by a string instruction may appear in any order to another core; two do not pass each
// other.
constexpr std::size_t tail = 8;

// A process that has ended answers nobody, not even with a refusal: its memory goes a moment before its
// connection to us does, and until then its packets count as lost.
fabric::DmaResult missing_destination() {
  return errno == ESRCH ? fabric::DmaResult::lost : fabric::DmaResult::destination_gone;
}

}  // namespace

ProcessDma::ProcessDma() : buffer_(chunk) {}

fabric::SpaceId ProcessDma::add(pid_t process, bool* written) {
  processes_[next_] = {process, written};
  return next_++;
}

// `bytes` of the list from `offset` on, to or from memory here.
bool ProcessDma::move(fabric::SpaceId space, std::span<const fabric::Piece> pieces, std::uint64_t offset,
                      std::byte* local, std::size_t bytes, bool reading) {
  const auto process = processes_.find(space);
  if (process == processes_.end()) {
    errno = ESRCH;
    return false;
  }
  if (!reading && process->second.written != nullptr) *process->second.written = true;
  while (bytes > 0) {
    std::array<iovec, 16> remote;
    std::size_t count = 0, total = 0;
    std::uint64_t skip = offset;
    for (const fabric::Piece& piece : pieces) {
      if (count == remote.size() || total == bytes) break;
      if (skip >= piece.length) {
        skip -= piece.length;
        continue;
      }
      const std::size_t length = std::min<std::uint64_t>(piece.length - skip, bytes - total);
      remote[count++] = {reinterpret_cast<void*>(piece.address + skip), length};
      total += length;
      skip = 0;
    }
    if (total == 0) return false;
    const std::size_t last = std::min(tail, total);
    const std::array<iovec, 2> here{{{local, total - last}, {local + (total - last), last}}};
    const ssize_t moved =
        reading
            ? process_vm_readv(process->second.number, here.data(), here.size(), remote.data(), count, 0)
            : process_vm_writev(process->second.number, here.data(), here.size(), remote.data(), count, 0);
    if (moved <= 0) return false;
    local += moved;
    offset += static_cast<std::uint64_t>(moved);
    bytes -= static_cast<std::size_t>(moved);
    bytes_moved_ += static_cast<std::uint64_t>(moved);
  }
  return true;
}

fabric::DmaResult ProcessDma::copy(fabric::SpaceId to, std::span<const fabric::Piece> destination,
                                   fabric::SpaceId from, std::span<const fabric::Piece> source) {
  std::uint64_t total = 0;
  for (const fabric::Piece& piece : source) total += piece.length;
  for (std::uint64_t offset = 0; offset < total; offset += chunk) {
    const std::size_t bytes = std::min<std::uint64_t>(chunk, total - offset);
    if (!move(from, source, offset, buffer_.data(), bytes, true)) return fabric::DmaResult::lost;
    if (!move(to, destination, offset, buffer_.data(), bytes, false)) return missing_destination();
  }
  return fabric::DmaResult::done;
}

bool ProcessDma::read(fabric::SpaceId from, std::span<const fabric::Piece> source, std::byte* out) {
  std::size_t total = 0;
  for (const fabric::Piece& piece : source) total += piece.length;
  return move(from, source, 0, out, total, true);
}

fabric::DmaResult ProcessDma::write(fabric::SpaceId to, std::span<const fabric::Piece> destination,
                                    const std::byte* in) {
  std::size_t total = 0;
  for (const fabric::Piece& piece : destination) total += piece.length;
  const bool moved = move(to, destination, 0, const_cast<std::byte*>(in), total, false);
  return moved ? fabric::DmaResult::done : missing_destination();
}

}  // namespace hawser::emulator
