// Unreliable datagrams of a VerbsDevice: buffers of its own, two completion queues, address handles made once
// for each destination (address_handles.h). A queue pair that fell into an error is reset by itself; what was
// under way is lost, as datagrams may be.
#pragma once

#include <memory>

#include "access/verbs/address_handles.h"
#include "access/verbs/verbs_device.h"

namespace hawser::rdma {

class VerbsDatagramQueuePair final : public DatagramQueuePair {
 public:
  static Result<std::unique_ptr<VerbsDatagramQueuePair>> make(VerbsDevice& device, std::uint8_t port,
                                                              std::uint32_t key, std::uint32_t receives);
  ~VerbsDatagramQueuePair() override;
  VerbsDatagramQueuePair(const VerbsDatagramQueuePair&) = delete;
  VerbsDatagramQueuePair& operator=(const VerbsDatagramQueuePair&) = delete;

  std::uint32_t number() const override { return pair_->qp_num; }
  std::int32_t datagram_bytes() const override { return bytes_; }
  bool send(const DatagramAddress& to, std::span<const std::byte> bytes) override;
  std::span<const std::byte> receive() override;
  std::int32_t unsent() override;
  void restart() override { broken_ = true; }
  Result<> attach(const MulticastGroup& group) override;
  void detach(const MulticastGroup& group) override;
  bool send_to_group(const MulticastGroup& to, std::span<const std::byte> header,
                     std::span<const std::byte> bytes) override;
  bool answers(const PortAddress& port) override { return handles_.answers(port); }

  std::uint8_t port() const { return port_; }
  Result<> arm() { return device_.arm(receives_, false); }
  // The port's own address changed: handles are made anew.
  void forget_addresses() {
    handles_.forget();
    forget_groups_ = true;
  }

 private:
  VerbsDatagramQueuePair(VerbsDevice& device, std::uint8_t port, std::uint32_t key, std::uint32_t receives)
      : device_(device), port_(port), key_(key), receive_slots_(receives), handles_(device, port) {}
  Result<> open();
  bool register_slots();
  Result<> start();    // RESET to RTS, all receives posted
  bool ensure_well();  // resets after an error
  void take_sent();
  bool post_receive(std::uint32_t slot);
  // Room for a datagram of so many bytes, as far as the queue pair is concerned.
  bool ready_to_send(std::size_t bytes);
  // What lies in a send slot.
  bool post_send(std::uint32_t slot, std::size_t bytes, ibv_ah* handle, std::uint32_t queue_pair);
  ibv_ah* handle_of(const MulticastGroup& group);
  void drop_group_handles();
  std::byte* slot(std::uint32_t index) const { return memory_.get() + std::size_t{index} * slot_bytes_; }

  VerbsDevice& device_;
  std::uint8_t port_;
  std::uint32_t key_;
  std::uint32_t receive_slots_;
  std::int32_t bytes_ = 0;
  std::uint32_t slot_bytes_ = 0;
  std::unique_ptr<std::byte[]> memory_;
  ibv_mr* region_ = nullptr;
  ibv_cq* sends_ = nullptr;
  ibv_cq* receives_ = nullptr;
  ibv_qp* pair_ = nullptr;
  AddressHandles handles_;
  std::vector<MulticastGroup> attached_;
  std::vector<std::pair<MulticastGroup, ibv_ah*>> group_handles_;
  bool forget_groups_ = false;             // their handles, as soon as nothing posted uses them
  std::vector<std::uint32_t> free_sends_;  // slots
  std::uint32_t lent_ = no_slot;           // the receive slot that the caller looks at
  std::uint32_t generation_ = 0;           // counts resets; completions of earlier ones are passed over
  bool broken_ = false;

  static constexpr std::uint32_t no_slot = UINT32_MAX;
};

}  // namespace hawser::rdma
