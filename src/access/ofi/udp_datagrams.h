// Unreliable datagrams of an OfiDevice: a UDP socket of its own, whose port is the number of the queue pair.
// Each datagram begins with the job's key; others' are passed over.
#pragma once

#include <array>

#include "access/rdma.h"
#include "os/file_descriptor.h"

namespace hawser::rdma {

class OfiDevice;

class UdpDatagrams final : public DatagramQueuePair {
 public:
  // `address`: IPv4, network order.
  static Result<std::unique_ptr<UdpDatagrams>> make(OfiDevice& device, std::uint32_t address,
                                                    std::uint32_t key);
  ~UdpDatagrams() override;
  UdpDatagrams(const UdpDatagrams&) = delete;
  UdpDatagrams& operator=(const UdpDatagrams&) = delete;

  std::uint32_t number() const override { return port_; }
  std::int32_t datagram_bytes() const override { return most_bytes; }
  bool send(const DatagramAddress& to, std::span<const std::byte> bytes) override;
  std::span<const std::byte> receive() override;
  std::int32_t unsent() override { return 0; }  // the kernel has them
  void restart() override {}

 private:
  static constexpr std::int32_t most_bytes = 1400;  // in any Ethernet's frame
  UdpDatagrams(OfiDevice& device, std::uint32_t key) : device_(device), key_(key) {}

  OfiDevice& device_;
  std::uint32_t key_;
  std::uint16_t port_ = 0;
  FileDescriptor socket_;
  std::array<std::byte, 2048> buffer_;
};

}  // namespace hawser::rdma
