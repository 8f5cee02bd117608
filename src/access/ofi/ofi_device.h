// OfiDevice: rdma::Device on libfabric's `tcp` provider: one network interface of this host, with one port.
// Reliable connections are message endpoints (fi_endpoint(3)), datagrams a UDP socket. Plain TCP underneath,
// so both ends must be in MPI for data to move: progress is made in poll(). No reads: up to libfabric 1.17.0
// a connection that ends during a read frees the read's record twice (pull request 8660), and later reads go
// astray.
//
// A port's address: gid is the IPv4 address mapped into IPv6, lid the TCP port that takes connections.
#pragma once

#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

#include "access/ofi/network_interface.h"
#include "access/ofi/ofi_functions.h"
#include "access/rdma.h"
#include "os/ready_set.h"

namespace hawser::rdma {

class OfiQueuePair;

// What a connection request says: whom it is from and for. As it is on the wire.
struct OfiGreeting {
  std::uint32_t from = 0, to = 0;  // queue pairs
  std::uint32_t psn = 0;           // what the receiver shall expect: tells attempts apart
  static constexpr std::uint32_t current_version = 2;
  std::uint32_t version = current_version;
  std::uint64_t proof = 0;  // SipHash of what stands before it, by the connection's secret
};
static_assert(sizeof(OfiGreeting) == 24, "hashed and compared as it is");

class OfiDevice final : public Device {
 public:
  static Result<std::unique_ptr<OfiDevice>> make(const OfiFunctions& functions,
                                                 const InterfaceAttributes& interface);
  ~OfiDevice() override;
  OfiDevice(const OfiDevice&) = delete;
  OfiDevice& operator=(const OfiDevice&) = delete;

  const DeviceAttributes& attributes() const override { return attributes_; }
  Result<PortAttributes> query_port(std::uint8_t port) override;
  Result<std::unique_ptr<MemoryRegion>> register_memory(void* address, std::size_t bytes,
                                                        Access access) override;
  Result<std::unique_ptr<CompletionQueue>> make_completion_queue(std::int32_t depth) override;
  Result<std::unique_ptr<SharedReceiveQueue>> make_shared_receive_queue(std::int32_t depth) override;
  Result<std::unique_ptr<QueuePair>> make_queue_pair(const QueuePairInitAttributes& shape) override;
  Result<std::unique_ptr<DatagramQueuePair>> make_datagram_queue_pair(std::uint8_t port, std::uint32_t key,
                                                                      std::uint32_t receives) override;
  bool next_event(DeviceEvent& event) override;
  int descriptor() const override { return ready_.descriptor(); }
  Result<> arm_datagrams() override { return {}; }  // a socket is readable until it is read

  // For the objects made from it.
  const OfiFunctions& functions() const { return functions_; }
  const fi_info& info() const { return *info_; }
  fi_info* copy_info() const { return functions_.dupinfo(info_); }
  fid_domain* domain() const { return domain_.get(); }
  fid_eq* events() const { return events_.get(); }
  const PortAddress& address() const { return address_; }
  Result<> watch(int descriptor) { return ready_.add(descriptor, 0, true, false); }
  void unwatch(const FileDescriptor& descriptor) { ready_.remove(descriptor); }
  void unwatch(int descriptor);
  Result<> arm(fid_cq* queue);
  // A pass: `busy` says that completions came in.
  void progress(bool busy);
  void progress_connections();

  // The connection request for this pair, if it is here already; null otherwise. The caller owns it.
  fi_info* take_request(const OfiGreeting& wanted);
  void reject(fi_info* request);
  void add(fid_ep* endpoint, OfiQueuePair& pair) { endpoints_[&endpoint->fid] = &pair; }
  void remove(fid_ep* endpoint) { endpoints_.erase(&endpoint->fid); }
  void forget(OfiQueuePair& pair);
  void stall(OfiQueuePair& pair);
  int connecting = 0;  // pairs that wait for their connection

 private:
  struct Request {
    OfiGreeting greeting;
    fi_info* info;
  };
  OfiDevice(const OfiFunctions& functions, std::string name) : functions_(functions) {
    attributes_.name = std::move(name);
  }
  Result<> open(std::uint32_t address);
  Result<> listen();
  void on_request(fi_info* request, std::span<const std::byte> data);
  OfiQueuePair* find(fid_t endpoint) const;

  OfiFunctions functions_;
  DeviceAttributes attributes_;
  PortAddress address_;
  fi_info* info_ = nullptr;
  ReadySet ready_;
  InterfaceWatch interfaces_;
  OfiHandle<fid_fabric> fabric_;
  OfiHandle<fid_domain> domain_;
  OfiHandle<fid_eq> events_;
  OfiHandle<fid_pep> listener_;
  int events_descriptor_ = -1;
  std::unordered_map<std::uint32_t, OfiQueuePair*> pairs_;  // looked up only
  std::unordered_map<fid_t, OfiQueuePair*> endpoints_;      // looked up only
  std::vector<OfiQueuePair*> stalled_;                      // have requests that libfabric did not take yet
  std::vector<Request> requests_;                           // came before their pair was ready
  std::uint32_t next_number_ = 0;
  std::uint32_t passes_ = 0;
  bool active_ = false;  // as last told
};

// The interfaces that a list names, such as "eth0,eth1", or with "all" those that are up and not loopback. An
// error if one does not exist or has no IPv4 address, or libfabric cannot be loaded.
class OfiDeviceSource final : public DeviceSource {
 public:
  explicit OfiDeviceSource(std::string interfaces) : interfaces_(std::move(interfaces)) {}
  Result<std::vector<std::unique_ptr<Device>>> open_devices() override;

 private:
  std::string interfaces_;
};

}  // namespace hawser::rdma
