#include "access/verbs/system_devices.h"

#include "access/verbs/verbs_device.h"

namespace hawser::rdma {

Result<std::vector<std::unique_ptr<Device>>> SystemDevices::open_devices() {
  auto functions = load_verbs_functions();
  if (!functions) return std::vector<std::unique_ptr<Device>>();
  return VerbsDeviceSource(functions.value()).open_devices();
}

}  // namespace hawser::rdma
