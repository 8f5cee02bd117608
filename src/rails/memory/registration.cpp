#include "rails/memory/registration.h"

#include <algorithm>
#include <utility>

namespace hawser {

std::uint64_t Registration::register_in_place(RegistrationCache& cache, std::byte* data, std::int64_t size,
                                              bool writable, DeviceMask devices) {
  address_ = data;
  size_ = size;
  cache_ = &cache;
  std::uint64_t refused = 0;
  for (DeviceMask rest = devices; rest != 0; rest &= rest - 1) {
    const DeviceMask bit = rest & (~rest + 1);
    if (cached_ != nullptr) {
      refused += !cache.add_devices(*cached_, bit);
    } else if (auto region = cache.acquire(data, size, writable, bit)) {
      cached_ = region.value();
    } else {
      ++refused;
    }
  }
  return refused;
}

std::uint64_t Registration::register_buffer(RegistrationCache& cache, std::int64_t size,
                                            std::size_t devices) {
  lay_out(nullptr, size);
  refused_ = false;
  std::uint64_t refused = 0;
  for (std::size_t device = 0; device < devices; ++device) {
    auto region = cache.register_apart(static_cast<int>(device), address_, static_cast<std::size_t>(size),
                                       rdma::Access::remote_read_write);
    refused += !region;
    regions_.push_back(region ? std::move(region).value() : nullptr);
  }
  return refused;
}

void Registration::lay_out(std::byte* data, std::int64_t size) {
  clear();
  refused_ = true;
  size_ = size;
  if (data == nullptr) buffer_.reset(new std::byte[static_cast<std::size_t>(size)]);
  address_ = data != nullptr ? data : buffer_.get();
}

Registration::Renewal Registration::renew_device(rdma::Device& opened, std::size_t device) {
  if (!made() || refused_) return Renewal::not_wanted;
  if (usable(device)) return Renewal::done;
  if (cached_ != nullptr)
    return cache_->add_devices(*cached_, DeviceMask{1} << device) ? Renewal::done : Renewal::refused;
  auto region =
      opened.register_memory(address_, static_cast<std::size_t>(size_), rdma::Access::remote_read_write);
  if (!region) return Renewal::not_wanted;
  regions_[device] = std::move(region).value();
  return Renewal::done;
}

std::span<const rdma::Segment> Registration::list(std::int64_t offset, std::int64_t size, std::size_t device,
                                                  std::span<rdma::Segment, rdma::longest_list> into) const {
  std::size_t count = 0;
  for (const MemoryBlock& place : places_) {
    if (size == 0) break;
    const std::int64_t skipped = std::min(offset, place.bytes);
    const std::int64_t bytes = std::min(place.bytes - skipped, size);
    offset -= skipped;
    size -= bytes;
    if (bytes > 0)
      into[count++] = {place.data + skipped, static_cast<std::uint32_t>(bytes), local_key(device)};
  }
  return into.first(count);
}

void Registration::clear() {
  if (cached_ != nullptr) cache_->release(cached_);
  cached_ = nullptr;
  regions_.clear();
  buffer_.reset();
  places_.clear();
  refused_ = false;
  address_ = nullptr;
}

}  // namespace hawser
