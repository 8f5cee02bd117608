// DmaPort: the model's only way to memory. The emulator implements it with process_vm_readv and writev, the
// simulator and the tests with memcpy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace hawser::fabric {

// The address space of one client, as the DmaPort's owner numbers them.
using SpaceId = std::uint32_t;

struct Piece {
  std::uint64_t address = 0;
  std::uint64_t length = 0;
};

// Whether a copy was made, or whose memory is not there.
enum class DmaResult : std::uint8_t {
  done,
  lost,              // the sender's, or a process at either side has ended: the packet counts as never come
  destination_gone,  // the receiver has unmapped a registered region: a protection error there
};

// Every method moves the whole of what it is asked for, or says that it could not.
// The pieces of both sides have the same total length. Called on the thread that runs the event queue.
class DmaPort {
 public:
  virtual ~DmaPort() = default;
  virtual DmaResult copy(SpaceId to, std::span<const Piece> destination, SpaceId from,
                         std::span<const Piece> source) = 0;
  virtual bool read(SpaceId from, std::span<const Piece> source, std::byte* out) = 0;
  virtual DmaResult write(SpaceId to, std::span<const Piece> destination, const std::byte* in) = 0;
};

// For clients that all live in this process: every space is this process's memory.
class LocalDmaPort : public DmaPort {
 public:
  DmaResult copy(SpaceId to, std::span<const Piece> destination, SpaceId from,
                 std::span<const Piece> source) override;
  bool read(SpaceId from, std::span<const Piece> source, std::byte* out) override;
  DmaResult write(SpaceId to, std::span<const Piece> destination, const std::byte* in) override;
};

}  // namespace hawser::fabric
