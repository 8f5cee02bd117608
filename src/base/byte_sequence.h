// A sequence of bytes in a user's memory, in one piece or reached through a packing engine: how the
// datatype room hands data to the channels without their knowing about datatypes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hawser {

// Bytes that follow each other in memory.
struct MemoryBlock {
  std::byte* data = nullptr;
  std::int64_t bytes = 0;
};

// Moves a part of the sequence between its place in memory and a buffer in one piece. `offset` counts
// bytes of the packed form; any offset may be asked for, but ascending ones are fast.
class Packer {
 public:
  virtual ~Packer() = default;
  virtual void pack(std::int64_t offset, std::byte* out, std::int64_t bytes) = 0;
  virtual void unpack(std::int64_t offset, const std::byte* in, std::int64_t bytes) = 0;
  // Where the byte at `offset` lies, with those behind it as far as they follow in memory. Without bytes: it
  // is not told, and the sequence can only be packed.
  virtual MemoryBlock block(std::int64_t) const { return {}; }
};

struct ByteSequence {
  std::byte* data = nullptr;  // the first byte, if in one piece; otherwise null and `packer` is set
  std::int64_t size = 0;      // bytes in packed form
  Packer* packer = nullptr;   // must outlive the operation the sequence is given to

  bool contiguous() const { return packer == nullptr; }
};

}  // namespace hawser
