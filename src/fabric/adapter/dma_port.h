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

// Whether a copy was made, or which side's memory is not there: the client died, or unmapped a registered
// region.
enum class DmaResult : std::uint8_t { done, source_gone, destination_gone };

// Every method moves the whole of what it is asked for, or says that it could not. Memory that is gone at the
// receiver counts as a protection error there; at the sender, as a packet that never came.
// The pieces of both sides have the same total length. Called on the thread that runs the event queue.
class DmaPort {
 public:
  virtual ~DmaPort() = default;
  virtual DmaResult copy(SpaceId to, std::span<const Piece> destination, SpaceId from,
                         std::span<const Piece> source) = 0;
  virtual bool read(SpaceId from, std::span<const Piece> source, std::byte* out) = 0;
  virtual bool write(SpaceId to, std::span<const Piece> destination, const std::byte* in) = 0;
};

// For clients that all live in this process: every space is this process's memory.
class LocalDmaPort : public DmaPort {
 public:
  DmaResult copy(SpaceId to, std::span<const Piece> destination, SpaceId from,
                 std::span<const Piece> source) override;
  bool read(SpaceId from, std::span<const Piece> source, std::byte* out) override;
  bool write(SpaceId to, std::span<const Piece> destination, const std::byte* in) override;
};

}  // namespace hawser::fabric
