// SystemDevices: the adapters that this machine's libibverbs knows. The library is loaded when they are asked
// for; a host without it has no adapters.
#pragma once

#include "access/rdma.h"

namespace hawser::rdma {

class SystemDevices final : public DeviceSource {
 public:
  Result<std::vector<std::unique_ptr<Device>>> open_devices() override;
};

}  // namespace hawser::rdma
