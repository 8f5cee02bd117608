// PacketPool: buffers of one size for packets, registered with every adapter, so that a packet can go out on
// any rail and come in on any. Grows by slabs, never shrinks: what it grows to is bounded by the windows of
// the connected peers and the receive queues.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "access/rdma.h"

namespace hawser {

struct PacketBuffer {
  std::byte* data = nullptr;
  const std::uint32_t* local_keys = nullptr;  // by number of the device
  std::uint32_t index = 0;                    // in its pool
  std::uint32_t bytes = 0;                    // that arrived
  std::int16_t receiver = -1;                 // number of the rail that has it to receive into
  PacketBuffer* next_free = nullptr;
};

class PacketPool {
 public:
  PacketPool(std::size_t buffer_bytes, std::size_t buffers_per_slab);
  PacketPool(const PacketPool&) = delete;
  PacketPool& operator=(const PacketPool&) = delete;
  ~PacketPool();

  // The devices to register with; before the first take(). Must outlive the pool.
  void set_devices(std::vector<rdma::Device*> devices) { devices_ = std::move(devices); }

  // Null when no device registers memory any more.
  PacketBuffer* take() {
    if (free_ == nullptr && !grow()) [[unlikely]]
      return nullptr;
    PacketBuffer* const buffer = free_;
    free_ = buffer->next_free;
    ++taken_;
    return buffer;
  }
  void give_back(PacketBuffer* buffer) {
    buffer->next_free = free_;
    free_ = buffer;
    --taken_;
  }
  PacketBuffer* at(std::uint32_t index) { return index < buffers_.size() ? &buffers_[index] : nullptr; }

  // The device is to be closed: its registrations go. Later, opened again: they are made again; on an error
  // some may be missing.
  void forget_device(std::size_t device);
  Result<> renew_device(std::size_t device);
  // Those that were posted to receive into on this rail, whose queue is gone.
  void give_back_receives(std::int16_t rail);

  std::size_t buffer_bytes() const { return buffer_bytes_; }
  std::size_t taken() const { return taken_; }

 private:
  struct Slab {
    std::unique_ptr<std::byte[]> bytes;
    std::vector<std::unique_ptr<rdma::MemoryRegion>> regions;
    std::vector<std::uint32_t> keys;
  };
  bool grow();

  std::size_t buffer_bytes_;
  std::size_t buffers_per_slab_;
  std::vector<rdma::Device*> devices_;
  std::deque<Slab> slabs_;
  std::deque<PacketBuffer> buffers_;
  PacketBuffer* free_ = nullptr;
  std::size_t taken_ = 0;
};

}  // namespace hawser
