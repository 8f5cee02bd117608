#include "access/system_devices.h"

#include "access/ofi/ofi_device.h"
#include "access/verbs/verbs_device.h"

namespace hawser::rdma {

Result<std::vector<std::unique_ptr<Device>>> SystemDevices::open_devices() {
  std::vector<std::unique_ptr<Device>> devices;
  if (auto functions = load_verbs_functions()) {
    auto adapters = VerbsDeviceSource(functions.value()).open_devices();
    if (!adapters) return adapters.take_error();
    devices = std::move(adapters).value();
  }
  auto interfaces = OfiDeviceSource(interfaces_).open_devices();
  if (!interfaces) return interfaces.take_error();
  for (auto& each : interfaces.value()) devices.push_back(std::move(each));
  return devices;
}

}  // namespace hawser::rdma
