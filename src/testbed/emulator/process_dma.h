// ProcessDma: moves data between the memories of client processes, as an adapter's DMA engine does. Spaces
// are numbers given to processes; a space without a process is memory that is gone.
#pragma once

#include <sys/types.h>

#include <map>
#include <vector>

#include "fabric/adapter/dma_port.h"

namespace hawser::emulator {

class ProcessDma final : public fabric::DmaPort {
 public:
  ProcessDma();
  // `written`, if not null, is set whenever something is written to the process.
  fabric::SpaceId add(pid_t process, bool* written = nullptr);
  void remove(fabric::SpaceId space) { processes_.erase(space); }

  fabric::DmaResult copy(fabric::SpaceId to, std::span<const fabric::Piece> destination, fabric::SpaceId from,
                         std::span<const fabric::Piece> source) override;
  bool read(fabric::SpaceId from, std::span<const fabric::Piece> source, std::byte* out) override;
  fabric::DmaResult write(fabric::SpaceId to, std::span<const fabric::Piece> destination,
                          const std::byte* in) override;

  std::uint64_t bytes_moved() const { return bytes_moved_; }

 private:
  bool move(fabric::SpaceId space, std::span<const fabric::Piece> pieces, std::uint64_t offset,
            std::byte* local, std::size_t bytes, bool reading);

  struct Process {
    pid_t number = 0;
    bool* written = nullptr;
  };
  std::map<fabric::SpaceId, Process> processes_;
  fabric::SpaceId next_ = 1;
  std::vector<std::byte> buffer_;
  std::uint64_t bytes_moved_ = 0;
};

}  // namespace hawser::emulator
