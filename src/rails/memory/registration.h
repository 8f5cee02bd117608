// Registration: bytes of this process made reachable for the adapters: registered where they lie, which the
// cache does, or in a buffer of their own. A device that refuses is no reason not to use the others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "access/rdma.h"
#include "base/byte_sequence.h"
#include "rails/memory/registration_cache.h"

namespace hawser {

class Registration {
 public:
  Registration() = default;
  Registration(const Registration&) = delete;
  Registration& operator=(const Registration&) = delete;
  ~Registration() { clear(); }

  // Registers `data` where it lies with these devices. Returns how many refused.
  std::uint64_t register_in_place(RegistrationCache& cache, std::byte* data, std::int64_t size, bool writable,
                                  DeviceMask devices);
  // Makes a buffer of its own and registers it with the devices below `devices`. Returns how many refused.
  std::uint64_t register_buffer(RegistrationCache& cache, std::int64_t size, std::size_t devices);
  // The bytes stay out of the adapters' reach, also of those that come back: in their place, or with null in
  // a buffer of their own.
  void lay_out(std::byte* data, std::int64_t size);

  // The bytes are those in these places within it, one behind the other. Until it is cleared.
  void lie_in(std::span<const MemoryBlock> places) { places_.assign(places.begin(), places.end()); }
  // The places of a part of the bytes, for this device; none: it is one piece.
  std::span<const rdma::Segment> list(std::int64_t offset, std::int64_t size, std::size_t device,
                                      std::span<rdma::Segment, rdma::longest_list> into) const;

  std::byte* address() const { return address_; }
  bool made() const { return address_ != nullptr; }
  bool usable(std::size_t device) const {
    if (cached_ != nullptr) return (cached_->devices() >> device & 1) != 0;
    return device < regions_.size() && regions_[device] != nullptr;
  }
  std::uint32_t local_key(std::size_t device) const {
    return cached_ != nullptr ? cached_->local_key(static_cast<int>(device)) : regions_[device]->local_key();
  }
  std::uint32_t remote_key(std::size_t device) const {
    return cached_ != nullptr ? cached_->remote_key(static_cast<int>(device))
                              : regions_[device]->remote_key();
  }

  // The device is to be closed; for what is cached, the cache is told.
  void forget_device(std::size_t device) {
    if (device < regions_.size()) regions_[device].reset();
  }
  enum class Renewal : std::uint8_t { not_wanted, refused, done };
  // The device was opened again.
  Renewal renew_device(rdma::Device& opened, std::size_t device);
  void clear();

 private:
  std::byte* address_ = nullptr;
  std::int64_t size_ = 0;
  RegistrationCache* cache_ = nullptr;
  RegisteredRegion* cached_ = nullptr;                        // where they lie
  std::vector<std::unique_ptr<rdma::MemoryRegion>> regions_;  // of the buffer, by device; null: refused
  std::unique_ptr<std::byte[]> buffer_;
  std::vector<MemoryBlock> places_;  // none: all of it
  bool refused_ = false;             // laid out
};

}  // namespace hawser
