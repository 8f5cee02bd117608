// VerbsDevice: rdma::Device on libibverbs, and the list of them. InfiniBand and RoCE; other node types
// (iWARP, unspecified) are passed over.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "access/rdma.h"
#include "access/verbs/verbs_functions.h"
#include "os/ready_set.h"

namespace hawser::rdma {

class VerbsDatagramQueuePair;

class VerbsDevice final : public Device {
 public:
  // Takes an open context over.
  static Result<std::unique_ptr<VerbsDevice>> make(const VerbsFunctions& functions, ibv_context* context);
  ~VerbsDevice() override;
  VerbsDevice(const VerbsDevice&) = delete;
  VerbsDevice& operator=(const VerbsDevice&) = delete;

  const DeviceAttributes& attributes() const override { return attributes_; }
  Result<PortAttributes> query_port(std::uint8_t port) override;
  void use_partition(std::uint16_t key) override { partition_ = key; }
  bool in_partition(std::uint8_t port, std::uint16_t key) override {
    return static_cast<bool>(partition_index(port, key));
  }
  Result<std::unique_ptr<MemoryRegion>> register_memory(void* address, std::size_t bytes,
                                                        Access access) override;
  Result<std::unique_ptr<CompletionQueue>> make_completion_queue(std::int32_t depth) override;
  Result<std::unique_ptr<SharedReceiveQueue>> make_shared_receive_queue(std::int32_t depth) override;
  Result<std::unique_ptr<QueuePair>> make_queue_pair(const QueuePairInitAttributes& shape) override;
  Result<std::unique_ptr<DatagramQueuePair>> make_datagram_queue_pair(std::uint8_t port, std::uint32_t key,
                                                                      std::uint32_t receives) override;
  bool next_event(DeviceEvent& event) override;
  int descriptor() const override { return ready_ ? ready_->descriptor() : -1; }
  Result<> arm_datagrams() override;
  void close() override;
  Result<> open_again() override;

  // For the objects made from it.
  std::uint32_t send_segments() const {  // of a queue pair
    return static_cast<std::uint32_t>(std::max(attributes_.segments, max_segments));
  }
  const VerbsFunctions& functions() const { return functions_; }
  const std::string& name() const { return attributes_.name; }
  ibv_context* context() const { return context_; }
  ibv_pd* domain() const { return domain_; }
  ibv_comp_channel* channel() const { return channel_; }
  // Events of what was armed before are taken; then `queue` is armed.
  Result<> arm(ibv_cq* queue, bool solicited_only);
  // As queried last.
  Result<PortAttributes> port_attributes(std::uint8_t port);
  // Where the P_Key stands in the port's table; 0: that of use_partition().
  Result<std::uint16_t> partition_index(std::uint8_t port, std::uint16_t key);
  void forget(VerbsDatagramQueuePair& gone);

 private:
  VerbsDevice(const VerbsFunctions& functions, ibv_context* context);
  Result<> open();
  Result<> needs_open() const;
  Result<> watch(int descriptor);
  int granted_inline_bytes() const;
  std::vector<ibv_gid_entry> gid_table(std::uint8_t port, int entries) const;
  void take_gids(std::uint8_t port, int entries, PortAttributes& attributes) const;

  VerbsFunctions functions_;
  ibv_context* context_;  // null: closed
  ibv_pd* domain_ = nullptr;
  ibv_comp_channel* channel_ = nullptr;
  std::optional<ReadySet> ready_;
  DeviceAttributes attributes_;
  std::vector<PortAttributes> ports_;  // as queried last; of port 1 first
  std::vector<VerbsDatagramQueuePair*> datagrams_;
  std::uint16_t partition_ = 0;
  bool armed_ = false;  // something was, since events were taken last
};

class VerbsDeviceSource final : public DeviceSource {
 public:
  explicit VerbsDeviceSource(const VerbsFunctions& functions) : functions_(functions) {}
  Result<std::vector<std::unique_ptr<Device>>> open_devices() override;

 private:
  VerbsFunctions functions_;
};

}  // namespace hawser::rdma
