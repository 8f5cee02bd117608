// RankMemory: the memory of ranks that are processes of their own, as the fabric's adapters reach it. A space
// is a rank.
#pragma once

#include <sys/types.h>

#include <vector>

#include "fabric/adapter/dma_port.h"

namespace hawser {

class RankMemory final : public fabric::DmaPort {
 public:
  explicit RankMemory(int ranks);
  // Whether it is to be had: a kernel may refuse one process the memory of another.
  bool reaches(int rank) const;
  void add(int rank, pid_t process) { processes_[static_cast<std::size_t>(rank)] = process; }

  fabric::DmaResult copy(fabric::SpaceId to, std::span<const fabric::Piece> destination, fabric::SpaceId from,
                         std::span<const fabric::Piece> source) override;
  bool read(fabric::SpaceId from, std::span<const fabric::Piece> source, std::byte* out) override;
  fabric::DmaResult write(fabric::SpaceId to, std::span<const fabric::Piece> destination,
                          const std::byte* in) override;

 private:
  // Whether the running process sees this memory of the rank.
  bool is_here(fabric::SpaceId rank, std::uint64_t address) const;
  bool fetch(fabric::SpaceId rank, std::uint64_t address, std::byte* into, std::size_t bytes) const;
  bool store(fabric::SpaceId rank, std::uint64_t address, const std::byte* from, std::size_t bytes) const;

  std::vector<pid_t> processes_;  // by rank; 0: not begun
  std::vector<std::byte> buffer_;
};

}  // namespace hawser
