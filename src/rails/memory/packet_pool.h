// PacketPool: buffers of one size for packets, registered with every adapter, so that a packet can go out on
// any rail and come in on any. Grows by slabs, never shrinks: what it grows to is bounded by the windows of
// the connected peers and the receive queues.
//
// When the system lets no more memory be locked (RLIMIT_MEMLOCK), the pool is short: neither may receives
// take what is needed to send, nor the other way round, for then nothing would ever come back. What is kept
// for each is there from the start (reserve()). Packets that wait for an earlier one are copied elsewhere
// then.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "access/rdma.h"
#include "rails/memory/registration_cache.h"

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
  // What is kept to send with, and for each rail to receive into. The window's half that a peer may take to
  // tell us that it has them.
  static constexpr std::size_t kept_to_send = 32;
  static constexpr std::size_t kept_to_receive = 16;
  // Of the former, what no packet with data and no put may take: those keep their buffers until the peer has
  // the bytes. A put is over only by a confirmation, and a failed connection comes back only by probes.
  static constexpr std::size_t kept_to_recover = 8;

  PacketPool(std::size_t buffer_bytes, std::size_t buffers_per_slab);
  PacketPool(const PacketPool&) = delete;
  PacketPool& operator=(const PacketPool&) = delete;
  ~PacketPool();

  // The devices to register with, which have a cache of users' registrations that can be given up, and those
  // of them that are dead; before the first take(). All must outlive the pool.
  void set_devices(std::vector<rdma::Device*> devices, RegistrationCache* cache, const DeviceMask* dead) {
    devices_ = std::move(devices);
    cache_ = cache;
    dead_ = dead;
  }
  // Another size of buffers; before the first take().
  void set_buffer_bytes(std::size_t bytes);
  bool is_short() const { return short_; }
  // So many buffers at least, at once.
  Result<> reserve(std::size_t buffers);

  // To send. Null: none can be had now.
  PacketBuffer* take() {
    if (short_ || available_ <= kept_to_recover) [[unlikely]]
      if (!may_send(kept_to_recover)) return nullptr;
    return pop();
  }
  // The same for what is not sent again when it is lost.
  PacketBuffer* take_for_protocol() {
    if (short_ || free_ == nullptr) [[unlikely]]
      if (!may_send(0)) return nullptr;
    return pop();
  }
  // To receive into, one more than a rail has already.
  PacketBuffer* take_to_receive(std::int32_t posted) {
    if (short_ || available_ <= kept_) [[unlikely]]
      if (!may_receive(posted)) return nullptr;
    return pop();
  }
  // How many receives a rail has posted and wants; it keeps them up to date until it is removed.
  struct Receives {
    std::int32_t posted = 0, wanted = 0;
  };
  void add(const Receives& receives) {
    receives_.push_back(&receives);
    kept_ += kept_to_receive;
  }
  void remove(const Receives& receives) {
    std::erase(receives_, &receives);
    kept_ -= kept_to_receive;
  }

  // A packet that is not looked at soon: itself, or when the pool is short a copy elsewhere, so that the
  // buffer can be used again. Later: drop().
  PacketBuffer* hold(PacketBuffer* buffer);
  void drop(PacketBuffer* held);
  std::size_t held() const { return held_; }
  void give_back(PacketBuffer* buffer) {
    buffer->next_free = free_;
    free_ = buffer;
    ++available_;
  }
  PacketBuffer* at(std::uint32_t index) { return index < buffers_.size() ? &buffers_[index] : nullptr; }

  // The device is to be closed: its registrations go. Later, opened again: they are made again; on an error
  // some may be missing.
  void forget_device(std::size_t device);
  Result<> renew_device(std::size_t device);
  // Those that were posted to receive into on this rail, whose queue is gone.
  void give_back_receives(std::int16_t rail);

  std::size_t buffer_bytes() const { return buffer_bytes_; }
  std::size_t bytes() const { return buffers_.size() * (buffer_bytes_ + sizeof(PacketBuffer)); }
  std::size_t taken() const { return buffers_.size() - available_; }

 private:
  struct Slab {
    std::unique_ptr<std::byte[]> bytes;
    std::vector<std::unique_ptr<rdma::MemoryRegion>> regions;
    std::vector<std::uint32_t> keys;
  };
  PacketBuffer* pop() {
    PacketBuffer* const buffer = free_;
    free_ = buffer->next_free;
    --available_;
    return buffer;
  }
  std::size_t lacking() const;
  bool may_send(std::size_t kept);
  bool may_receive(std::int32_t posted);
  // Unless it was refused a short time ago.
  bool try_to_grow();
  Result<> grow();
  Result<std::unique_ptr<rdma::MemoryRegion>> register_slab(std::size_t device, const Slab& slab);

  std::size_t buffer_bytes_ = 0;
  std::size_t buffers_per_slab_;
  std::vector<rdma::Device*> devices_;
  RegistrationCache* cache_ = nullptr;
  const DeviceMask* dead_ = nullptr;
  bool short_ = false;       // the system refused
  std::uint32_t skips_ = 0;  // so often it is not asked again
  std::vector<const Receives*> receives_;
  std::size_t kept_ = kept_to_send;  // for sends and all rails
  std::deque<Slab> slabs_;
  std::deque<PacketBuffer> buffers_;
  PacketBuffer* free_ = nullptr;
  std::size_t available_ = 0;
  std::size_t held_ = 0;
};

}  // namespace hawser
