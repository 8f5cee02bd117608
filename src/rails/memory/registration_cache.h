// RegistrationCache: registrations of users' buffers, for each device that needs one, kept after use because
// making one costs as much as moving a hundred kilobytes (V07 4.2.1). A region stays for as long as its
// memory stays mapped (access/memory_watch.h), it is used now and then (least recently used goes first), and
// the limits allow.
//
// Regions are whole pages and may overlap. A new one takes in the idle neighbours that it overlaps or touches
// and that are not larger than what it has grown to: a buffer walked through piece by piece ends in few
// regions, and no byte is registered more than about log n times on the way there.
//
// Memory is registered with all rights if the system lets it; memory that may not be written (constants of
// the program) can still be read and sent from.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "access/rdma.h"
#include "base/intrusive_list.h"
#include "os/memory_watch.h"

namespace hawser {

using DeviceMask = std::uint32_t;  // bit i: device i
inline constexpr int max_cached_devices = 32;

// What acquire() hands out: valid until release().
class RegisteredRegion {
 public:
  std::uint32_t local_key(int device) const {
    return regions_[static_cast<std::size_t>(device)]->local_key();
  }
  std::uint32_t remote_key(int device) const {
    return regions_[static_cast<std::size_t>(device)]->remote_key();
  }
  DeviceMask devices() const { return devices_; }

 private:
  friend class RegistrationCache;
  std::uintptr_t start_ = 0, end_ = 0;
  bool writable_ = true;
  bool keep_ = true;     // after use
  bool indexed_ = true;  // can be found; false: its memory went away, it dies with its last use
  std::uint32_t uses_ = 0;
  DeviceMask devices_ = 0;
  std::vector<std::unique_ptr<rdma::MemoryRegion>> regions_;  // by device
  ListLink idle_;
};

struct RegistrationSettings {
  std::int64_t most_bytes = 64LL << 30;  // of memory kept registered; each device counts. 0: keep nothing
  std::int64_t most_regions = 4096;
  std::size_t page_bytes = 4096;
};

struct RegistrationCounters {
  std::uint64_t hits = 0;
  std::uint64_t misses = 0;
  std::uint64_t registrations = 0;  // with one device
  std::uint64_t merged = 0;         // regions taken in by larger ones
  std::uint64_t evicted = 0;        // for the limits
  std::uint64_t invalidated = 0;    // because memory went away
  std::uint64_t refused = 0;        // by the system
};

class RegistrationCache {
 public:
  // `watch` null: the owner tells by invalidate(), as in the simulator. Devices and watch outlive the cache;
  // at most max_cached_devices.
  RegistrationCache(std::vector<rdma::Device*> devices, MemoryWatch* watch,
                    const RegistrationSettings& settings = {});
  ~RegistrationCache();
  RegistrationCache(const RegistrationCache&) = delete;
  RegistrationCache& operator=(const RegistrationCache&) = delete;

  // A region of [address, address + bytes), bytes > 0, with at least these devices. `writable`: adapters will
  // write to it. Each acquire is followed by one release. An error: the system refuses, also after all that
  // is idle was given up; nothing is held then.
  Result<RegisteredRegion*> acquire(const void* address, std::int64_t bytes, bool writable,
                                    DeviceMask devices);
  // Further devices for a region in use (a failover to another rail).
  Result<> add_devices(RegisteredRegion& region, DeviceMask devices);
  void release(RegisteredRegion* region);

  // A registration of the caller's own, with one device. If the system refuses, what is idle is given up.
  Result<std::unique_ptr<rdma::MemoryRegion>> register_apart(int device, void* address, std::size_t bytes,
                                                             rdma::Access access);

  // The memory went away or will do so. Regions in use go on until released, but are not found any more.
  void invalidate(const void* address, std::size_t bytes);
  // Takes what the watch has seen; true if there was something. acquire() does it too; to be called now and
  // then besides, so that memory given back does not stay pinned.
  bool take_changes();
  // See MemoryWatch; to be called before take_changes.
  void give_back_free_memory(Nanoseconds now) {
    if (watch_ != nullptr) watch_->give_back_free_memory(now);
  }
  // The device is gone (fatal): its registrations are destroyed, also those in use.
  void forget_device(int device);
  // Gives up everything idle.
  void clear();

  bool idle() const { return in_use_ == 0; }
  std::int64_t kept_bytes() const { return bytes_; }
  std::size_t regions() const { return index_.size(); }
  const RegistrationCounters& counters() const { return counters_; }
  void check_invariants() const;

 private:
  struct IndexEntry {
    std::uintptr_t start, end;
    std::uintptr_t furthest;  // the largest end up to this entry
    RegisteredRegion* region;
  };
  using Position = std::vector<IndexEntry>::iterator;

  RegisteredRegion* find(std::uintptr_t start, std::uintptr_t end, bool writable);
  Result<RegisteredRegion*> make(const MemoryRange& wanted, bool writable, bool keep, DeviceMask devices);
  std::vector<RegisteredRegion*> absorbable(std::uintptr_t& start, std::uintptr_t& end);
  Result<> register_with(RegisteredRegion& region, DeviceMask devices, bool writable);
  Result<std::unique_ptr<rdma::MemoryRegion>> register_once(const RegisteredRegion& region, int device,
                                                            bool writable);
  void insert(RegisteredRegion* region);
  void remove(RegisteredRegion* region);   // from the index; destroyed if idle
  void destroy(RegisteredRegion* region);  // not in the index, idle
  bool evict_one();
  void keep_limits();
  void renew_furthest(Position at);
  std::int64_t weight(const RegisteredRegion& region) const;

  std::vector<rdma::Device*> devices_;
  MemoryWatch* watch_;
  RegistrationSettings settings_;
  RegistrationCounters counters_;
  std::vector<IndexEntry> index_;              // by start, then end
  std::vector<RegisteredRegion*> unfindable_;  // in use, their memory went away
  RegisteredRegion* last_ = nullptr;           // found last
  std::int64_t bytes_ = 0;
  std::uint64_t in_use_ = 0;                                        // regions
  IntrusiveList<RegisteredRegion, &RegisteredRegion::idle_> idle_;  // least recently used first
};

}  // namespace hawser
