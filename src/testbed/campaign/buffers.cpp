#include "testbed/campaign/buffers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace hawser {
namespace {

std::uint64_t word_of(std::uint64_t key, std::uint64_t index) {
  std::uint64_t word = key + (index + 1) * 0x9e3779b97f4a7c15u;
  word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9u;
  return word ^ word >> 29;
}

// The offset of the first byte that is not `wanted`; -1: none.
std::ptrdiff_t find_other(const std::byte* bytes, std::size_t size, std::byte wanted) {
  if (size == 0) return -1;
  if (bytes[0] == wanted && std::memcmp(bytes, bytes + 1, size - 1) == 0) return -1;
  return std::find_if(bytes, bytes + size, [wanted](std::byte byte) { return byte != wanted; }) - bytes;
}

}  // namespace

void fill_payload(std::byte* to, std::size_t bytes, std::uint64_t key) {
  for (std::size_t at = 0; at < bytes; at += sizeof(std::uint64_t)) {
    const std::uint64_t word = word_of(key, at);
    std::memcpy(to + at, &word, std::min(sizeof word, bytes - at));
  }
}

std::ptrdiff_t find_payload_error(const std::byte* bytes, std::size_t size, std::uint64_t key) {
  for (std::size_t at = 0; at < size; at += sizeof(std::uint64_t)) {
    const std::uint64_t word = word_of(key, at);
    const std::size_t part = std::min(sizeof word, size - at);
    if (std::memcmp(bytes + at, &word, part) == 0) continue;
    const auto* const wanted = reinterpret_cast<const std::byte*>(&word);
    return static_cast<std::ptrdiff_t>(at) +
           (std::mismatch(wanted, wanted + part, bytes + at).first - wanted);
  }
  return -1;
}

Buffers::Buffer Buffers::take(std::size_t size, bool reuse) {
  std::size_t number = slabs_.size();
  if (reuse) {
    for (std::size_t i = 0; i < slabs_.size(); ++i) {
      if (slabs_[i].in_use || slabs_[i].capacity < size || slabs_[i].capacity > 2 * size + guard) continue;
      number = i;
      break;
    }
  }
  if (number == slabs_.size()) {
    Slab& made = slabs_.emplace_back();
    made.capacity = size;
    made.memory = std::make_unique_for_overwrite<std::byte[]>(size + 2 * guard);
    std::memset(made.memory.get(), std::to_integer<int>(guard_byte), guard);
  } else if (std::string damage = damage_of(slabs_[number]); !damage.empty()) {
    throw std::runtime_error(damage);
  }
  Slab& slab = slabs_[number];
  slab.in_use = true;
  slab.size = size;
  std::byte* const data = slab.memory.get() + guard;
  std::memset(data, std::to_integer<int>(blank), size);
  std::memset(data + size, std::to_integer<int>(guard_byte), slab.capacity - size + guard);
  return {data, size, static_cast<std::uint32_t>(number)};
}

void Buffers::give_back(const Buffer& buffer) {
  Slab& slab = slabs_[buffer.number];
  if (std::string damage = damage_of(slab); !damage.empty()) throw std::runtime_error(damage);
  slab.in_use = false;
  std::memset(slab.memory.get() + guard, std::to_integer<int>(poison), slab.size);
}

std::string Buffers::damage_of(const Slab& slab) const {
  const std::byte* const data = slab.memory.get() + guard;
  const auto before = find_other(slab.memory.get(), guard, guard_byte);
  if (before >= 0) {
    return fmt::format("{} bytes before a buffer of {} were written",
                       static_cast<std::ptrdiff_t>(guard) - before, slab.size);
  }
  const auto behind = find_other(data + slab.size, slab.capacity - slab.size + guard, guard_byte);
  if (behind >= 0) return fmt::format("the byte {} behind a buffer of {} was written", behind, slab.size);
  if (slab.in_use) return {};
  const auto late = find_other(data, slab.size, poison);
  if (late < 0) return {};
  return fmt::format("a late write: byte {} of a buffer of {} that was complete", late, slab.size);
}

std::string Buffers::find_damage() const {
  for (const Slab& slab : slabs_)
    if (std::string damage = damage_of(slab); !damage.empty()) return damage;
  return {};
}

}  // namespace hawser
