#include "rails/memory/registration_cache.h"

#include <algorithm>
#include <bit>

#include "base/assert.h"
#include "base/failure.h"

namespace hawser {

RegistrationCache::RegistrationCache(std::vector<rdma::Device*> devices, MemoryWatch* watch,
                                     const RegistrationSettings& settings)
    : devices_(std::move(devices)), watch_(watch), settings_(settings) {
  HAWSER_ASSERT(devices_.size() <= max_cached_devices);
  HAWSER_ASSERT(std::has_single_bit(settings.page_bytes));
}

RegistrationCache::~RegistrationCache() {
  HAWSER_ASSERT(in_use_ == 0);
  clear();
}

std::int64_t RegistrationCache::weight(const RegisteredRegion& region) const {
  return static_cast<std::int64_t>(region.end_ - region.start_) * std::popcount(region.devices_);
}

Result<RegisteredRegion*> RegistrationCache::acquire(const void* address, std::int64_t bytes, bool writable,
                                                     DeviceMask devices) {
  HAWSER_ASSERT(bytes > 0 && devices != 0);
  take_changes();
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  const std::uintptr_t page = settings_.page_bytes;
  const std::uintptr_t start = at & ~(page - 1);
  const std::uintptr_t end = (at + static_cast<std::uintptr_t>(bytes) + page - 1) & ~(page - 1);
  // If nothing is kept, nothing is shared either: what is registered does not depend on where memory lies
  // then, so that simulated runs repeat themselves.
  RegisteredRegion* region = settings_.most_bytes > 0 ? find(start, end, writable) : nullptr;
  if (region != nullptr) {
    ++counters_.hits;
    HAWSER_TRY(add_devices(*region, devices));
  } else {
    ++counters_.misses;
    const bool keep = settings_.most_bytes > 0 && (watch_ == nullptr || watch_->may_keep(address));
    auto made = make({start, end - start}, writable, keep, devices);
    if (!made) return made.take_error();
    region = made.value();
  }
  if (region->uses_++ == 0) {
    ++in_use_;
    if (region->idle_.linked()) idle_.remove(region);
  }
  last_ = region->indexed_ ? region : last_;
  return region;
}

void RegistrationCache::release(RegisteredRegion* region) {
  HAWSER_ASSERT(region->uses_ > 0);
  if (--region->uses_ > 0) return;
  --in_use_;
  if (!region->indexed_) {
    std::erase(unfindable_, region);
    destroy(region);
    return;
  }
  idle_.push_back(region);
  if (!region->keep_)
    remove(region);
  else
    keep_limits();
}

RegisteredRegion* RegistrationCache::find(std::uintptr_t start, std::uintptr_t end, bool writable) {
  const auto serves = [&](const RegisteredRegion& region) {
    return region.start_ <= start && region.end_ >= end && (region.writable_ || !writable);
  };
  if (last_ != nullptr && serves(*last_)) return last_;
  auto at =
      std::upper_bound(index_.begin(), index_.end(), start,
                       [](std::uintptr_t value, const IndexEntry& entry) { return value < entry.start; });
  while (at != index_.begin()) {
    --at;
    if (at->furthest < end) return nullptr;
    if (serves(*at->region)) return at->region;
  }
  return nullptr;
}

// The idle regions that a new one of [start, end) takes in; widens it to cover them.
std::vector<RegisteredRegion*> RegistrationCache::absorbable(std::uintptr_t& start, std::uintptr_t& end) {
  std::vector<RegisteredRegion*> found;
  for (bool more = true; more;) {
    more = false;
    auto at =
        std::upper_bound(index_.begin(), index_.end(), end,
                         [](std::uintptr_t value, const IndexEntry& entry) { return value < entry.start; });
    while (at != index_.begin() && (at - 1)->furthest >= start) {
      --at;
      RegisteredRegion* region = at->region;
      if (region->end_ < start || region->uses_ > 0 || region->end_ - region->start_ > end - start) continue;
      if (std::find(found.begin(), found.end(), region) != found.end()) continue;
      found.push_back(region);
      start = std::min(start, region->start_);
      end = std::max(end, region->end_);
      more = true;
    }
  }
  return found;
}

Result<RegisteredRegion*> RegistrationCache::make(const MemoryRange& wanted, bool writable, bool keep,
                                                  DeviceMask devices) {
  auto region = std::make_unique<RegisteredRegion>();
  region->regions_.resize(devices_.size());
  region->keep_ = keep;
  region->start_ = wanted.address;
  region->end_ = wanted.address + wanted.bytes;
  std::vector<RegisteredRegion*> parts;
  DeviceMask all = devices;
  if (keep) parts = absorbable(region->start_, region->end_);
  for (const RegisteredRegion* part : parts) all |= part->devices_;

  bool done = false;
  if (!parts.empty()) {
    for (RegisteredRegion* part : parts) idle_.remove(part);  // not to be given up meanwhile
    // Not with a part that may be written if the whole then may not: pages of constants beside it.
    const bool must_write =
        writable || std::any_of(parts.begin(), parts.end(), [](const auto* part) { return part->writable_; });
    done = static_cast<bool>(register_with(*region, all, must_write));
    for (RegisteredRegion* part : parts) idle_.push_back(part);
    if (done) {
      counters_.merged += parts.size();
      for (RegisteredRegion* part : parts) remove(part);
    } else {
      region->start_ = wanted.address;
      region->end_ = wanted.address + wanted.bytes;
    }
  }
  if (!done) HAWSER_TRY(register_with(*region, devices, writable));
  insert(region.get());
  if (watch_ != nullptr) watch_->watch({region->start_, region->end_ - region->start_});
  return region.release();
}

// All of them or none more than before. `must_write`: read-only is not enough.
Result<> RegistrationCache::register_with(RegisteredRegion& region, DeviceMask devices, bool must_write) {
  const DeviceMask before = region.devices_;
  for (int device = 0; device < static_cast<int>(devices_.size()); ++device) {
    const DeviceMask bit = DeviceMask{1} << device;
    if ((devices & bit) == 0 || (region.devices_ & bit) != 0) continue;
    auto made = register_once(region, device, must_write);
    if (!made) {
      for (int other = 0; other < device; ++other)
        if (((region.devices_ & ~before) >> other & 1) != 0)
          region.regions_[static_cast<std::size_t>(other)].reset();
      region.devices_ = before;
      return made.take_error();
    }
    region.regions_[static_cast<std::size_t>(device)] = std::move(made.value());
    region.devices_ |= bit;
  }
  region.writable_ = true;
  for (const auto& made : region.regions_)
    if (made != nullptr && made->read_only()) region.writable_ = false;
  return {};
}

Result<std::unique_ptr<rdma::MemoryRegion>> RegistrationCache::register_once(const RegisteredRegion& region,
                                                                             int device, bool must_write) {
  auto made = register_apart(device, reinterpret_cast<void*>(region.start_), region.end_ - region.start_,
                             rdma::Access::remote_read_write);
  if (!made) return made;
  if (must_write && made.value()->read_only())
    return failure(ErrorKind::bad_address, "{} bytes at {:#x} cannot be written", region.end_ - region.start_,
                   region.start_);
  ++counters_.registrations;
  return made;
}

Result<std::unique_ptr<rdma::MemoryRegion>> RegistrationCache::register_apart(int device, void* address,
                                                                              std::size_t bytes,
                                                                              rdma::Access access) {
  // The system may be short of memory to pin: give up what is idle, twice as much each time.
  for (int give_up = 1;; give_up *= 2) {
    auto made = devices_[static_cast<std::size_t>(device)]->register_memory(address, bytes, access);
    if (made) return made;
    ++counters_.refused;
    bool gave_up = false;
    for (int i = 0; i < give_up; ++i) gave_up = evict_one() || gave_up;
    if (!gave_up) return made;
  }
}

Result<> RegistrationCache::add_devices(RegisteredRegion& region, DeviceMask devices) {
  if ((devices & ~region.devices_) == 0) return {};
  const bool was_idle = region.idle_.linked();
  if (was_idle) idle_.remove(&region);  // not to be given up for its own sake
  const std::int64_t before = weight(region);
  Result<> result = register_with(region, devices, region.writable_);
  if (region.indexed_) bytes_ += weight(region) - before;
  if (was_idle) idle_.push_back(&region);
  return result;
}

void RegistrationCache::insert(RegisteredRegion* region) {
  const IndexEntry entry{region->start_, region->end_, 0, region};
  const auto at =
      std::upper_bound(index_.begin(), index_.end(), entry,
                       [](const IndexEntry& a, const IndexEntry& b) { return a.start < b.start; });
  renew_furthest(index_.insert(at, entry));
  bytes_ += weight(*region);
}

void RegistrationCache::renew_furthest(Position at) {
  std::uintptr_t furthest = at == index_.begin() ? 0 : (at - 1)->furthest;
  for (; at != index_.end(); ++at) at->furthest = furthest = std::max(furthest, at->end);
}

void RegistrationCache::remove(RegisteredRegion* region) {
  auto at =
      std::lower_bound(index_.begin(), index_.end(), region->start_,
                       [](const IndexEntry& entry, std::uintptr_t value) { return entry.start < value; });
  while (at->region != region) ++at;
  renew_furthest(index_.erase(at));
  bytes_ -= weight(*region);
  region->indexed_ = false;
  if (last_ == region) last_ = nullptr;
  if (region->idle_.linked()) {
    idle_.remove(region);
    destroy(region);
  } else {
    unfindable_.push_back(region);
  }
}

void RegistrationCache::destroy(RegisteredRegion* region) { delete region; }

bool RegistrationCache::evict_one() {
  RegisteredRegion* region = idle_.front();
  if (region == nullptr) return false;
  ++counters_.evicted;
  remove(region);
  return true;
}

void RegistrationCache::keep_limits() {
  while (
      (bytes_ > settings_.most_bytes || static_cast<std::int64_t>(index_.size()) > settings_.most_regions) &&
      evict_one()) {
  }
}

void RegistrationCache::invalidate(const void* address, std::size_t bytes) {
  const auto start = reinterpret_cast<std::uintptr_t>(address);
  const std::uintptr_t end = bytes > UINTPTR_MAX - start ? UINTPTR_MAX : start + bytes;
  for (;;) {
    auto at =
        std::lower_bound(index_.begin(), index_.end(), end,
                         [](const IndexEntry& entry, std::uintptr_t value) { return entry.start < value; });
    RegisteredRegion* found = nullptr;
    while (found == nullptr && at != index_.begin() && (at - 1)->furthest > start) {
      --at;
      if (at->end > start) found = at->region;
    }
    if (found == nullptr) return;
    ++counters_.invalidated;
    remove(found);
  }
}

bool RegistrationCache::take_changes() {
  if (watch_ == nullptr) return false;
  MemoryRange ranges[32];
  bool any = false;
  for (std::size_t count = watch_->take(ranges); count > 0;
       count = count == std::size(ranges) ? watch_->take(ranges) : 0) {
    any = true;
    for (std::size_t i = 0; i < count; ++i)
      invalidate(reinterpret_cast<const void*>(ranges[i].address), ranges[i].bytes);
  }
  return any;
}

void RegistrationCache::forget_device(int device) {
  const DeviceMask bit = DeviceMask{1} << device;
  const auto forget = [&](RegisteredRegion& region) {
    region.regions_[static_cast<std::size_t>(device)].reset();
    region.devices_ &= ~bit;
  };
  for (const IndexEntry& entry : index_) {
    bytes_ -= weight(*entry.region);
    forget(*entry.region);
    bytes_ += weight(*entry.region);
  }
  for (RegisteredRegion* region : unfindable_) forget(*region);
}

void RegistrationCache::clear() {
  while (RegisteredRegion* region = idle_.front()) remove(region);
}

void RegistrationCache::check_invariants() const {
  std::int64_t bytes = 0;
  std::uint64_t in_use = unfindable_.size();
  std::uintptr_t furthest = 0;
  for (std::size_t i = 0; i < index_.size(); ++i) {
    const IndexEntry& entry = index_[i];
    const RegisteredRegion& region = *entry.region;
    HAWSER_ASSERT(i == 0 || index_[i - 1].start <= entry.start);
    HAWSER_ASSERT(entry.start == region.start_ && entry.end == region.end_ && entry.start < entry.end);
    furthest = std::max(furthest, entry.end);
    HAWSER_ASSERT(entry.furthest == furthest);
    HAWSER_ASSERT(region.indexed_ && region.idle_.linked() == (region.uses_ == 0));
    for (std::size_t device = 0; device < region.regions_.size(); ++device)
      HAWSER_ASSERT((region.regions_[device] != nullptr) == ((region.devices_ >> device & 1) != 0));
    bytes += weight(region);
    in_use += region.uses_ > 0;
  }
  HAWSER_ASSERT(bytes == bytes_);
  HAWSER_ASSERT(in_use == in_use_);
  for (const RegisteredRegion* region : unfindable_) HAWSER_ASSERT(region->uses_ > 0 && !region->indexed_);
}

}  // namespace hawser
