#include "fabric/adapter/memory.h"

#include <algorithm>

#include "base/assert.h"

namespace hawser::fabric {
namespace {

constexpr std::uint32_t tag_bits = MemoryTable::tag_bits;
constexpr std::size_t most_regions = 1u << (32 - tag_bits);

}  // namespace

MemoryRegion* MemoryTable::add(const MemoryRegion& region) {
  if (free_.empty()) {
    if (slots_.size() + 1 >= most_regions) return nullptr;
    // Key 0 is what programs pass when they forget one: it never becomes valid.
    if (slots_.empty()) slots_.emplace_back();
    free_.push_back(static_cast<std::uint32_t>(slots_.size()));
    slots_.emplace_back().tag = first_tag_;
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

namespace {

bool covers(const MemoryRegion& region, std::uint64_t address, std::uint64_t length) {
  if (address < region.virtual_address || length > region.length) return false;
  return address - region.virtual_address <= region.length - length;
}

}  // namespace

const MemoryRegion* MemoryTable::check(std::uint32_t key, const ProtectionDomain* domain,
                                       std::uint64_t address, std::uint64_t length,
                                       std::uint32_t access) const {
  const MemoryRegion* region = find(key);
  if (region == nullptr || region->domain != domain || (region->access & access) != access) return nullptr;
  return region->kind == MemoryRegion::Kind::region && covers(*region, address, length) ? region : nullptr;
}

const MemoryRegion* MemoryTable::check_remote(std::uint32_t key, const ProtectionDomain* domain,
                                              std::uint32_t queue_pair, std::uint64_t address,
                                              std::uint64_t length, std::uint32_t access) const {
  const MemoryRegion* found = find(key);
  if (found == nullptr || found->domain != domain || (found->access & access) != access) return nullptr;
  if (found->kind != MemoryRegion::Kind::region) [[unlikely]] {
    if (found->region == nullptr) return nullptr;
    if (found->kind == MemoryRegion::Kind::window_2 && found->queue_pair != queue_pair) return nullptr;
  }
  return covers(*found, address, length) ? found : nullptr;
}

// A window of type 1 is bound anew as often as its owner likes, one of type 2 must be invalidated before.
bool MemoryTable::bind(const SendRequest& request, const ProtectionDomain* domain, std::uint32_t queue_pair) {
  constexpr std::uint32_t changes = access_remote_write | access_remote_atomic;
  // By its number: which key the window has now is known here better than to the program.
  const std::uint32_t index = number_of(request.window_key);
  MemoryRegion* const window = index < slots_.size() ? slots_[index].region.get() : nullptr;
  if (window == nullptr || window->kind == MemoryRegion::Kind::region || window->domain != domain ||
      (request.rkey ^ window->key) >> tag_bits != 0)
    return false;
  const bool once = window->kind == MemoryRegion::Kind::window_2;
  if (once && (window->region != nullptr || request.window_length == 0)) return false;
  MemoryRegion* region = nullptr;
  if (request.window_length > 0) {
    region = find(request.region_key);
    if (region == nullptr || region->kind != MemoryRegion::Kind::region || region->domain != domain ||
        (region->access & access_bind_window) == 0 ||
        !covers(*region, request.remote_address, request.window_length))
      return false;
    if ((request.window_access & changes) != 0 && (region->access & access_local_write) == 0) return false;
  }
  unbind(*window);
  Slot& slot = slots_[window->key >> tag_bits];
  window->key = request.rkey;
  slot.tag = static_cast<std::uint8_t>(request.rkey);
  if (region == nullptr) return true;
  ++region->windows;
  window->region = region;
  window->space = region->space;
  window->address = request.remote_address - region->virtual_address + region->address;
  window->length = request.window_length;
  window->virtual_address = (request.window_access & access_zero_based) != 0 ? 0 : request.remote_address;
  window->access = request.window_access;
  window->queue_pair = queue_pair;
  return true;
}

bool MemoryTable::invalidate(std::uint32_t key, const ProtectionDomain* domain, std::uint32_t queue_pair) {
  MemoryRegion* const window = find(key);
  if (window == nullptr || window->kind != MemoryRegion::Kind::window_2 || window->domain != domain ||
      window->region == nullptr || window->queue_pair != queue_pair)
    return false;
  unbind(*window);
  return true;
}

void MemoryTable::unbind(MemoryRegion& window) {
  if (window.region == nullptr) return;
  --window.region->windows;
  window.region = nullptr;
  window.length = 0;
  window.access = 0;
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
