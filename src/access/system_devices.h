// SystemDevices: the adapters that this machine's libibverbs knows, and the network interfaces that are to be
// used beside them. The libraries are loaded when they are asked for; a host without libibverbs has no
// adapters.
#pragma once

#include <string>

#include "access/rdma.h"

namespace hawser::rdma {

class SystemDevices final : public DeviceSource {
 public:
  // `interfaces`: as OfiDeviceSource takes them; empty: none.
  explicit SystemDevices(std::string interfaces) : interfaces_(std::move(interfaces)) {}
  Result<std::vector<std::unique_ptr<Device>>> open_devices() override;

 private:
  std::string interfaces_;
};

}  // namespace hawser::rdma
