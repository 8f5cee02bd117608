#include "channel/rails/packet_pool.h"

namespace hawser {
namespace {
constexpr std::size_t cache_line = 64;
}

PacketPool::PacketPool(std::size_t buffer_bytes, std::size_t buffers_per_slab)
    : buffer_bytes_((buffer_bytes + cache_line - 1) / cache_line * cache_line),
      buffers_per_slab_(buffers_per_slab) {}

PacketPool::~PacketPool() = default;

bool PacketPool::grow() {
  Slab slab;
  const std::size_t bytes = buffer_bytes_ * buffers_per_slab_;
  slab.bytes = std::make_unique<std::byte[]>(bytes);
  bool any = false;
  for (rdma::Device* device : devices_) {
    // A device that refuses is dead or out of resources: its rails fail when they use the key 0.
    auto region = device->register_memory(slab.bytes.get(), bytes, rdma::Access::local);
    slab.keys.push_back(region ? region.value()->local_key() : 0);
    slab.regions.push_back(region ? std::move(region).value() : nullptr);
    any |= slab.regions.back() != nullptr;
  }
  if (!any) return false;
  slabs_.push_back(std::move(slab));
  const Slab& kept = slabs_.back();
  for (std::size_t i = 0; i < buffers_per_slab_; ++i) {
    PacketBuffer& buffer = buffers_.emplace_back();
    buffer.data = kept.bytes.get() + i * buffer_bytes_;
    buffer.local_keys = kept.keys.data();
    buffer.index = static_cast<std::uint32_t>(buffers_.size() - 1);
    buffer.next_free = free_;
    free_ = &buffer;
  }
  return true;
}

void PacketPool::forget_device(std::size_t device) {
  for (Slab& slab : slabs_) {
    slab.regions[device].reset();
    slab.keys[device] = 0;
  }
}

Result<> PacketPool::renew_device(std::size_t device) {
  for (Slab& slab : slabs_) {
    auto region = devices_[device]->register_memory(slab.bytes.get(), buffer_bytes_ * buffers_per_slab_,
                                                    rdma::Access::local);
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
