// Buffers: the memory that one simulated rank's program sends from and receives into, such that every byte
// that is written where nothing may be written is noticed. Around each buffer lie guard bytes; a buffer that
// was given back is poisoned and looked at again when it is taken again and at the end of the run, so a late
// write into it does not stay hidden.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace hawser {

// Bytes that depend on the key in every word; two keys give unlike bytes at every offset.
void fill_payload(std::byte* to, std::size_t bytes, std::uint64_t key);
// The offset of the first byte that differs from fill_payload's; -1: none.
std::ptrdiff_t find_payload_error(const std::byte* bytes, std::size_t size, std::uint64_t key);

class Buffers {
 public:
  struct Buffer {
    std::byte* data = nullptr;
    std::size_t size = 0;
    std::uint32_t number = 0;
  };

  Buffers() = default;
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;

  // Its bytes are all `blank`. One that was given back is used again if it fits and `reuse`. Throws
  // std::runtime_error when that one was written to meanwhile.
  Buffer take(std::size_t size, bool reuse);
  // The program has no more use for it, and nobody may write it any more. Throws std::runtime_error when a
  // guard byte was overwritten.
  void give_back(const Buffer& buffer);
  // What is wrong with any of them; empty: nothing. Buffers that were not given back have their guards
  // checked only.
  std::string find_damage() const;

  static constexpr std::byte blank{0xb1};

 private:
  static constexpr std::size_t guard = 64;
  static constexpr std::byte guard_byte{0x9d};
  static constexpr std::byte poison{0xde};

  struct Slab {
    std::unique_ptr<std::byte[]> memory;  // guard, `capacity` bytes, guard
    std::size_t capacity = 0;
    std::size_t size = 0;  // of the last use: what follows is guard, too
    bool in_use = false;
  };
  std::string damage_of(const Slab& slab) const;

  std::vector<Slab> slabs_;
};

}  // namespace hawser
