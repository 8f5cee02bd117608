#include "fabric/adapter/memory.h"

#include <algorithm>

#include "base/assert.h"

namespace hawser::fabric {
namespace {

constexpr std::uint32_t tag_bits = 8;
constexpr std::size_t most_regions = 1u << (32 - tag_bits);

}  // namespace

MemoryRegion* MemoryTable::add(const MemoryRegion& region) {
  if (free_.empty()) {
    if (slots_.size() + 1 >= most_regions) return nullptr;
    // Key 0 is what programs pass when they forget one: it never becomes valid.
    if (slots_.empty()) slots_.emplace_back();
    free_.push_back(static_cast<std::uint32_t>(slots_.size()));
    slots_.emplace_back();
  }
  const std::uint32_t index = free_.back();
  free_.pop_back();
  Slot& slot = slots_[index];
  slot.region = std::make_unique<MemoryRegion>(region);
  slot.region->key = (index << tag_bits) | ++slot.tag;
  ++live_;
  return slot.region.get();
}

void MemoryTable::remove(MemoryRegion& region) {
  const std::uint32_t index = region.key >> tag_bits;
  HAWSER_ASSERT(index < slots_.size() && slots_[index].region.get() == &region);
  slots_[index].region.reset();
  free_.push_back(index);
  --live_;
}

MemoryRegion* MemoryTable::find(std::uint32_t key) const {
  const std::uint32_t index = key >> tag_bits;
  if (index >= slots_.size()) return nullptr;
  MemoryRegion* region = slots_[index].region.get();
  return region != nullptr && region->key == key ? region : nullptr;
}

const MemoryRegion* MemoryTable::check(std::uint32_t key, const ProtectionDomain* domain,
                                       std::uint64_t address, std::uint64_t length,
                                       std::uint32_t access) const {
  const MemoryRegion* region = find(key);
  if (region == nullptr || region->domain != domain || (region->access & access) != access) return nullptr;
  if (address < region->virtual_address || length > region->length) return nullptr;
  return address - region->virtual_address <= region->length - length ? region : nullptr;
}

bool gather_pieces(const MemoryTable& table, const ProtectionDomain* domain,
                   std::span<const Segment> segments, std::uint64_t offset, std::uint64_t length,
                   std::uint32_t access, std::vector<Piece>& out) {
  out.clear();
  for (const Segment& segment : segments) {
    if (length == 0) break;
    if (offset >= segment.length) {
      offset -= segment.length;
      continue;
    }
    const std::uint64_t bytes = std::min<std::uint64_t>(segment.length - offset, length);
    const std::uint64_t address = segment.address + offset;
    const MemoryRegion* region = table.check(segment.lkey, domain, address, bytes, access);
    if (region == nullptr) return false;
    out.push_back({address - region->virtual_address + region->address, bytes});
    length -= bytes;
    offset = 0;
  }
  return true;
}

}  // namespace hawser::fabric
