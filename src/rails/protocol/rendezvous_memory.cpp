// Rendezvous: registering the bytes that adapters move.
#include "rails/protocol/rendezvous.h"

namespace hawser {

bool Rendezvous::register_bytes(Transfer& transfer, bool writable) {
  Registration& registration = transfer.registration;
  if (!transfer.copied())
    register_in_place(registration, transfer.bytes.data, transfer.size, writable);
  else
    register_packed(registration, transfer.size);
  for (std::size_t device = 0; device < resources_.devices.size(); ++device)
    if (registration.usable(device)) return true;
  registration.clear();
  return false;
}

// With every device that takes it: one that refuses is no reason not to use the others.
void Rendezvous::register_in_place(Registration& registration, std::byte* data, std::int64_t size,
                                   bool writable) {
  registration.address = data;
  registration.cache = resources_.registrations.get();
  for (std::size_t device = 0; device < resources_.devices.size(); ++device) {
    const DeviceMask bit = DeviceMask{1} << device;
    if ((resources_.dead_devices & bit) != 0) continue;
    if (registration.cached != nullptr) {
      context_.counters.registrations_refused += !registration.cache->add_devices(*registration.cached, bit);
    } else if (auto region = registration.cache->acquire(data, size, writable, bit)) {
      registration.cached = region.value();
    } else {
      ++context_.counters.registrations_refused;
    }
  }
}

void Rendezvous::register_packed(Registration& registration, std::int64_t size) {
  registration.packed.reset(new std::byte[static_cast<std::size_t>(size)]);
  registration.address = registration.packed.get();
  for (std::size_t device = 0; device < resources_.devices.size(); ++device) {
    auto region = resources_.registrations->register_apart(static_cast<int>(device), registration.address,
                                                           static_cast<std::size_t>(size),
                                                           rdma::Access::remote_read_write);
    context_.counters.registrations_refused += !region;
    registration.regions.push_back(region ? std::move(region).value() : nullptr);
  }
}

RemoteBytes Rendezvous::own_bytes(const Transfer& transfer) const {
  RemoteBytes bytes;
  bytes.address = reinterpret_cast<std::uintptr_t>(transfer.registration.address);
  for (const auto& rail : resources_.rails)
    if (transfer.registration.usable(rail->device_number())) {
      bytes.keys[rail->number()] = transfer.registration.remote_key(rail->device_number());
      bytes.device_generations[rail->number()] = rail->address().device_generation;
    }
  return bytes;
}

}  // namespace hawser
