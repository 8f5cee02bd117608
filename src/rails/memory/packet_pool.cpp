#include "rails/memory/packet_pool.h"

#include <algorithm>

namespace hawser {
namespace {
constexpr std::size_t cache_line = 64;
constexpr std::uint32_t of_no_slab = UINT32_MAX;  // index of a copy
}  // namespace

PacketPool::PacketPool(std::size_t buffer_bytes, std::size_t buffers_per_slab)
    : buffers_per_slab_(buffers_per_slab) {
  set_buffer_bytes(buffer_bytes);
}

PacketPool::~PacketPool() = default;

void PacketPool::set_buffer_bytes(std::size_t bytes) {
  buffer_bytes_ = (bytes + cache_line - 1) / cache_line * cache_line;
}

Result<std::unique_ptr<rdma::MemoryRegion>> PacketPool::register_slab(std::size_t device, const Slab& slab) {
  const std::size_t bytes = buffer_bytes_ * buffers_per_slab_;
  if (cache_ != nullptr)
    return cache_->register_apart(static_cast<int>(device), slab.bytes.get(), bytes, rdma::Access::local);
  return devices_[device]->register_memory(slab.bytes.get(), bytes, rdma::Access::local);
}

// With every device that is not dead (the rails of one that is fail when they use the key 0), or not at all.
Result<> PacketPool::grow() {
  Slab slab;
  slab.bytes = std::make_unique_for_overwrite<std::byte[]>(buffer_bytes_ * buffers_per_slab_);
  for (std::size_t device = 0; device < devices_.size(); ++device) {
    auto region = register_slab(device, slab);
    if (!region && (dead_ == nullptr || (*dead_ >> device & 1) == 0)) return region.take_error();
    slab.keys.push_back(region ? region.value()->local_key() : 0);
    slab.regions.push_back(region ? std::move(region).value() : nullptr);
  }
  slabs_.push_back(std::move(slab));
  available_ += buffers_per_slab_;
  const Slab& kept = slabs_.back();
  for (std::size_t i = 0; i < buffers_per_slab_; ++i) {
    PacketBuffer& buffer = buffers_.emplace_back();
    buffer.data = kept.bytes.get() + i * buffer_bytes_;
    buffer.local_keys = kept.keys.data();
    buffer.index = static_cast<std::uint32_t>(buffers_.size() - 1);
    buffer.next_free = free_;
    free_ = &buffer;
  }
  return {};
}

bool PacketPool::try_to_grow() {
  constexpr std::uint32_t skips_after_refusal = 1000;
  if (short_ && skips_ > 0) {
    --skips_;
    return false;
  }
  short_ = !grow();
  skips_ = short_ ? skips_after_refusal : 0;
  return !short_;
}

Result<> PacketPool::reserve(std::size_t buffers) {
  while (buffers_.size() < buffers) HAWSER_TRY(grow());
  return {};
}

// What the rails have not posted yet of what is kept for them.
std::size_t PacketPool::lacking() const {
  std::size_t all = 0;
  for (const Receives* each : receives_)
    all += kept_to_receive - std::min(kept_to_receive, static_cast<std::size_t>(each->posted));
  return all;
}

bool PacketPool::may_send(std::size_t kept) {
  return available_ > kept + (short_ ? lacking() : 0) || try_to_grow();
}

bool PacketPool::may_receive(std::int32_t posted) {
  if (static_cast<std::size_t>(posted) < kept_to_receive && available_ > 0) return true;
  std::size_t all = 0;
  for (const Receives* each : receives_) all += static_cast<std::size_t>(each->posted);
  return (available_ > kept_to_send + lacking() && (!short_ || 2 * all < buffers_.size())) || try_to_grow();
}

PacketBuffer* PacketPool::hold(PacketBuffer* buffer) {
  ++held_;
  if (!short_) return buffer;
  auto* const copy = new PacketBuffer(*buffer);
  copy->index = of_no_slab;
  copy->data = new std::byte[buffer->bytes];
  std::copy_n(buffer->data, buffer->bytes, copy->data);
  return copy;
}

void PacketPool::drop(PacketBuffer* held) {
  --held_;
  if (held->index != of_no_slab) return give_back(held);
  delete[] held->data;
  delete held;
}

void PacketPool::forget_device(std::size_t device) {
  for (Slab& slab : slabs_) {
    slab.regions[device].reset();
    slab.keys[device] = 0;
  }
}

Result<> PacketPool::renew_device(std::size_t device) {
  for (Slab& slab : slabs_) {
    auto region = register_slab(device, slab);
    if (!region) return region.take_error();
    slab.keys[device] = region.value()->local_key();
    slab.regions[device] = std::move(region).value();
  }
  return {};
}

void PacketPool::give_back_receives(std::int16_t rail) {
  for (PacketBuffer& buffer : buffers_) {
    if (buffer.receiver != rail) continue;
    buffer.receiver = -1;
    give_back(&buffer);
  }
}

}  // namespace hawser
