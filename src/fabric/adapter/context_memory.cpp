// Context: regions and windows.
#include <cerrno>

#include "fabric/adapter/adapter.h"

namespace hawser::fabric {
namespace {

Outcome check_region(std::uint64_t address, std::uint64_t length, std::uint32_t access) {
  constexpr std::uint32_t remote_changes = access_remote_write | access_remote_atomic;
  if ((access & remote_changes) != 0 && (access & access_local_write) == 0) {
    return {EINVAL, "remote write or atomic access needs local write access"};
  }
  if (address + length < address) return {EINVAL, "the region wraps around"};
  return {};
}

// What the system locks for a region: whole pages, as often as they are registered.
std::uint64_t locked_by(std::uint64_t address, std::uint64_t length) {
  constexpr std::uint64_t page = 4096;
  return length == 0 ? 0 : ((address + length - 1) / page - address / page + 1) * page;
}

}  // namespace

bool Context::may_lock(std::uint64_t more) const {
  const std::uint64_t limit = adapter_.services().parameters.locked_memory;
  return limit == 0 || (more <= limit && locked_ <= limit - more);
}

Outcome Context::register_memory(ProtectionDomain& domain, std::uint64_t address, std::uint64_t length,
                                 std::uint64_t virtual_address, std::uint32_t access, MemoryRegion** out) {
  if (Outcome checked = check_region(address, length, access); !checked.ok()) return checked;
  if (defunct_) return {EIO, "the adapter is dead"};
  const std::uint64_t locked = locked_by(address, length);
  if (!may_lock(locked)) return {ENOMEM, "the limit of locked memory"};
  MemoryRegion region;
  region.domain = &domain;
  region.space = space_;
  region.address = address;
  region.length = length;
  region.virtual_address = virtual_address;
  region.access = access;
  *out = adapter_.memory().add(region);
  if (*out == nullptr) return {ENOMEM, "there are no more keys"};
  regions_[(*out)->key] = *out;
  locked_ += locked;
  ++domain.users;
  return {};
}

Outcome Context::change_memory(MemoryRegion& region, const MemoryChange& change) {
  if (region.windows != 0) return {EBUSY, "windows are bound to the region"};
  const std::uint64_t address = change.translation ? change.address : region.address;
  const std::uint64_t length = change.translation ? change.length : region.length;
  const std::uint32_t access = change.rights ? change.access : region.access;
  if (Outcome checked = check_region(address, length, access); !checked.ok()) return checked;
  const std::uint64_t before = locked_by(region.address, region.length), after = locked_by(address, length);
  if (after > before && !may_lock(after - before)) return {ENOMEM, "the limit of locked memory"};
  locked_ += after - before;
  if (change.domain != nullptr) {
    --region.domain->users;
    ++change.domain->users;
    region.domain = change.domain;
  }
  region.address = address;
  region.length = length;
  region.access = access;
  if (change.translation) region.virtual_address = change.virtual_address;
  return {};
}

Outcome Context::deregister_memory(MemoryRegion& region) {
  if (region.windows != 0) return {EBUSY, "windows are bound to the region"};
  // What was read from it may still be on its way, also where the reader asked once more than it needed.
  for (auto& [number, queue_pair] : queue_pairs_) queue_pair->detach_packets(region);
  --region.domain->users;
  locked_ -= locked_by(region.address, region.length);
  regions_.erase(region.key);
  adapter_.memory().remove(region);
  return {};
}

Outcome Context::create_window(ProtectionDomain& domain, MemoryRegion::Kind kind, MemoryRegion** out) {
  MemoryRegion window;
  window.domain = &domain;
  window.kind = kind;
  *out = adapter_.memory().add(window);
  if (*out == nullptr) return {ENOMEM, "there are no more keys"};
  windows_[MemoryTable::number_of((*out)->key)] = *out;
  ++domain.users;
  return {};
}

void Context::destroy_window(MemoryRegion& window) {
  adapter_.memory().unbind(window);
  --window.domain->users;
  windows_.erase(MemoryTable::number_of(window.key));
  adapter_.memory().remove(window);
}

}  // namespace hawser::fabric
