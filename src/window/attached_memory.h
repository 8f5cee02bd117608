// AttachedMemory: what a process attached to a dynamic window (MPI-5.0 section 12.2.4).
#pragma once

#include <cstdint>
#include <map>

#include "base/result.h"

namespace hawser {

class AttachedMemory {
 public:
  // Fails with rma_attach if a part of it is attached already. Memory of 0 bytes may be attached, too.
  Result<> attach(const void* base, std::int64_t size);
  // `base` as it was attached.
  Result<> detach(const void* base);
  // Whether all of [address, address + bytes) is attached, if in several pieces that touch.
  bool contains(std::uint64_t address, std::uint64_t bytes) const;

 private:
  std::map<std::uint64_t, std::uint64_t> pieces_;  // address: bytes
};

}  // namespace hawser
