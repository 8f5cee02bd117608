#include "access/ofi/ofi_device.h"

#include <netinet/in.h>

#include <algorithm>
#include <cstring>

#include "access/ofi/ofi_queue_pair.h"
#include "access/ofi/ofi_queues.h"
#include "access/ofi/udp_datagrams.h"
#include "base/failure.h"
#include "base/random.h"

namespace hawser::rdma {
namespace {

// Connections that break are seen when data should move; the queue of events is looked at in between.
constexpr std::uint32_t passes_per_look = 64;
constexpr std::uint32_t number_mask = 0xffffff;

fi_info* wanted_info(const OfiFunctions& functions) {
  fi_info* const hints = functions.dupinfo(nullptr);
  if (hints == nullptr) return nullptr;
  hints->fabric_attr->prov_name = ::strdup("tcp");  // freed with the hints
  hints->ep_attr->type = FI_EP_MSG;
  hints->caps = FI_MSG | FI_RMA;
  hints->addr_format = FI_SOCKADDR_IN;
  hints->domain_attr->threading = FI_THREAD_DOMAIN;
  hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
  hints->domain_attr->control_progress = FI_PROGRESS_MANUAL;
  // Remote memory by its address there, as verbs do; asked for bit by bit, the provider wants offsets.
  hints->domain_attr->mr_mode = FI_MR_BASIC;
  return hints;
}

}  // namespace

Result<std::unique_ptr<OfiDevice>> OfiDevice::make(const OfiFunctions& functions,
                                                   const InterfaceAttributes& interface) {
  std::unique_ptr<OfiDevice> made(new OfiDevice(functions, interface.name));
  HAWSER_TRY(made->open(interface.address));
  return made;
}

Result<> OfiDevice::open(std::uint32_t address) {
  auto ready = ReadySet::make();
  if (!ready) return ready.take_error();
  ready_ = std::move(ready).value();
  auto interfaces = InterfaceWatch::make();
  if (!interfaces) return interfaces.take_error();
  interfaces_ = std::move(interfaces).value();
  HAWSER_TRY(watch(interfaces_.descriptor()));

  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(&address);
  const std::string text = fmt::format("{}.{}.{}.{}", bytes[0], bytes[1], bytes[2], bytes[3]);
  fi_info* const hints = wanted_info(functions_);
  if (hints == nullptr) return refused(functions_, "fi_allocinfo", attributes_.name, FI_ENOMEM);
  const int error =
      functions_.getinfo(FI_VERSION(1, 15), text.c_str(), "0", FI_SOURCE | FI_NUMERICHOST, hints, &info_);
  functions_.freeinfo(hints);
  if (error != 0) return refused(functions_, "fi_getinfo for provider tcp", attributes_.name, error);

  const auto open_with = [&](const char* call, auto& handle, auto&& make) -> Result<> {
    typename std::remove_reference_t<decltype(handle)>::pointer object = nullptr;
    if (const int refusal = make(&object); refusal != 0)
      return refused(functions_, call, attributes_.name, refusal);
    handle.reset(object);
    return {};
  };
  HAWSER_TRY(open_with("fi_fabric", fabric_, [&](fid_fabric** made) {
    return functions_.fabric(info_->fabric_attr, made, nullptr);
  }));
  HAWSER_TRY(open_with("fi_domain", domain_,
                       [&](fid_domain** made) { return fi_domain(fabric_.get(), info_, made, nullptr); }));
  fi_eq_attr wanted{};
  wanted.wait_obj = FI_WAIT_FD;
  HAWSER_TRY(open_with("fi_eq_open", events_,
                       [&](fid_eq** made) { return fi_eq_open(fabric_.get(), &wanted, made, nullptr); }));
  HAWSER_TRY(open_with("fi_passive_ep", listener_,
                       [&](fid_pep** made) { return fi_passive_ep(fabric_.get(), info_, made, nullptr); }));
  return listen();
}

Result<> OfiDevice::listen() {
  sockaddr_in own{};
  std::size_t length = sizeof(own);
  int error = fi_pep_bind(listener_.get(), &events_->fid, 0);
  if (error == 0) error = fi_listen(listener_.get());
  if (error == 0) error = fi_getname(&listener_->fid, &own, &length);
  if (error == 0) error = fi_control(&events_->fid, FI_GETWAIT, &events_descriptor_);
  if (error != 0) return refused(functions_, "listening for connections", attributes_.name, error);
  HAWSER_TRY(watch(events_descriptor_));
  address_.gids[0] = mapped_address(own.sin_addr.s_addr);
  address_.lid = ntohs(own.sin_port);
  address_.link_layer = LinkLayer::ethernet;
  address_.transport = Transport::tcp;
  address_.mtu = 5;  // 4096; nothing depends on it
  attributes_.ports = 1;
  attributes_.send_queue_depth = attributes_.completion_queue_depth = attributes_.shared_receive_depth =
      1 << 16;
  attributes_.inline_bytes = OfiQueuePair::most_inline;
  // Those of an earlier process on this address shall not fit.
  Random random((std::uint64_t{address_.lid} << 32) ^ reinterpret_cast<std::uintptr_t>(this));
  next_number_ = static_cast<std::uint32_t>(random.below(number_mask));
  const auto attributes = query_port(1);
  active_ = attributes && attributes.value().active;
  return {};
}

OfiDevice::~OfiDevice() {
  for (const Request& each : requests_) reject(each.info);
  listener_.reset();
  events_.reset();
  domain_.reset();
  fabric_.reset();
  if (info_ != nullptr) functions_.freeinfo(info_);
}

Result<PortAttributes> OfiDevice::query_port(std::uint8_t port) {
  if (port != 1) return failure(ErrorKind::other, "{} has no port {}", attributes_.name, port);
  PortAttributes attributes;
  attributes.address = address_;
  attributes.bytes_per_second = interface_rate(attributes_.name);
  // With another address this one cannot be reached: as good as down.
  for (const InterfaceAttributes& each : network_interfaces(attributes_.name))
    attributes.active = each.running && each.address == ipv4_of(address_.gids[0]);
  return attributes;
}

bool OfiDevice::next_event(DeviceEvent& event) {
  if (!interfaces_.take()) return false;
  const auto attributes = query_port(1);
  const bool active = attributes && attributes.value().active;
  if (active == active_) return false;
  active_ = active;
  event = {active ? DeviceEvent::Kind::port_active : DeviceEvent::Kind::port_down, 1, 0};
  return true;
}

Result<std::unique_ptr<MemoryRegion>> OfiDevice::register_memory(void* address, std::size_t bytes,
                                                                 Access access) {
  std::uint64_t rights = FI_SEND | FI_RECV | FI_WRITE;
  if (access != Access::local) rights |= FI_REMOTE_WRITE;
  fid_mr* region = nullptr;
  const int error = fi_mr_reg(domain_.get(), address, bytes, rights, 0, 0, 0, &region, nullptr);
  if (error != 0)
    return refused(functions_, fmt::format("fi_mr_reg of {} bytes", bytes), attributes_.name, error);
  OfiHandle<fid_mr> handle(region);
  const std::uint64_t key = fi_mr_key(region);
  if (key > UINT32_MAX - 1)
    return failure(ErrorKind::other, "the key {} of a memory region on {} has more than 32 bits", key,
                   attributes_.name);
  // 0 means none to the channel room.
  return std::unique_ptr<MemoryRegion>(
      new OfiMemoryRegion(std::move(handle), static_cast<std::uint32_t>(key) + 1));
}

Result<std::unique_ptr<CompletionQueue>> OfiDevice::make_completion_queue(std::int32_t depth) {
  auto made = OfiCompletionQueue::make(*this, depth);
  if (!made) return made.take_error();
  return std::unique_ptr<CompletionQueue>(std::move(made).value());
}

Result<std::unique_ptr<SharedReceiveQueue>> OfiDevice::make_shared_receive_queue(std::int32_t depth) {
  return OfiSharedReceiveQueue::make(*this, depth);
}

Result<std::unique_ptr<QueuePair>> OfiDevice::make_queue_pair(const QueuePairInitAttributes& shape) {
  do next_number_ = (next_number_ + 1) & number_mask;
  while (next_number_ == 0 || pairs_.contains(next_number_));
  auto made = std::make_unique<OfiQueuePair>(*this, next_number_, shape);
  pairs_[next_number_] = made.get();
  return std::unique_ptr<QueuePair>(std::move(made));
}

Result<std::unique_ptr<DatagramQueuePair>> OfiDevice::make_datagram_queue_pair(std::uint8_t,
                                                                               std::uint32_t key,
                                                                               std::uint32_t) {
  auto made = UdpDatagrams::make(*this, ipv4_of(address_.gids[0]), key);
  if (!made) return made.take_error();
  return std::unique_ptr<DatagramQueuePair>(std::move(made).value());
}

void OfiDevice::unwatch(int descriptor) {
  FileDescriptor borrowed(descriptor);
  ready_.remove(borrowed);
  borrowed.release();
}

Result<> OfiDevice::arm(fid_cq* queue) {
  fid_t waited[] = {&queue->fid, &events_->fid};
  // -FI_EAGAIN: something is there, which the poll that follows takes.
  const int error = fi_trywait(fabric_.get(), waited, 2);
  passes_ = passes_per_look;
  if (error != 0 && error != -FI_EAGAIN) return refused(functions_, "fi_trywait", attributes_.name, error);
  return {};
}

// Connections.

void OfiDevice::progress(bool busy) {
  for (std::size_t i = 0; i < stalled_.size();) {
    OfiQueuePair* const pair = stalled_[i];
    if (pair->advance())
      stalled_.erase(stalled_.begin() + static_cast<std::ptrdiff_t>(i));
    else
      ++i;
  }
  if (connecting == 0 && (busy || ++passes_ < passes_per_look)) return;
  passes_ = 0;
  progress_connections();
}

void OfiDevice::progress_connections() {
  for (;;) {
    alignas(fi_eq_cm_entry) std::array<std::byte, sizeof(fi_eq_cm_entry) + 256> buffer;
    std::uint32_t kind = 0;
    const auto got = fi_eq_read(events_.get(), &kind, buffer.data(), buffer.size(), 0);
    if (got == -FI_EAVAIL) {
      fi_eq_err_entry error{};
      if (fi_eq_readerr(events_.get(), &error, 0) <= 0) return;
      if (OfiQueuePair* const pair = find(error.fid); pair != nullptr) pair->on_broken();
      continue;
    }
    if (got <= 0) return;
    const auto& entry = *reinterpret_cast<const fi_eq_cm_entry*>(buffer.data());
    const auto bytes = static_cast<std::size_t>(got);
    if (kind == FI_CONNREQ) {
      on_request(entry.info, std::span(buffer).first(bytes).subspan(offsetof(fi_eq_cm_entry, data)));
    } else if (OfiQueuePair* const pair = find(entry.fid); pair != nullptr) {
      if (kind == FI_CONNECTED) pair->on_connected();
      if (kind == FI_SHUTDOWN) pair->on_broken();
    }
  }
}

OfiQueuePair* OfiDevice::find(fid_t endpoint) const {
  const auto found = endpoints_.find(endpoint);
  return found == endpoints_.end() ? nullptr : found->second;
}

void OfiDevice::on_request(fi_info* request, std::span<const std::byte> data) {
  OfiGreeting greeting;
  if (data.size() >= sizeof(greeting)) {
    std::memcpy(&greeting, data.data(), sizeof(greeting));
    const auto found = pairs_.find(greeting.to);
    if (greeting.version == OfiGreeting::current_version && found != pairs_.end()) {
      if (found->second->on_request(greeting, request)) return;
      // Its own side is not there yet, and only it can tell the right one. Strangers' are not kept without
      // end.
      constexpr auto most_requests = 4;
      if (found->second->fresh() &&
          std::count_if(requests_.begin(), requests_.end(), [&](const Request& each) {
            return each.greeting.to == greeting.to;
          }) < most_requests) {
        requests_.push_back({greeting, request});
        return;
      }
    }
  }
  reject(request);
}

fi_info* OfiDevice::take_request(const OfiGreeting& wanted) {
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    const Request each = requests_[i];
    if (std::memcmp(&each.greeting, &wanted, sizeof(wanted)) != 0) continue;
    requests_.erase(requests_.begin() + static_cast<std::ptrdiff_t>(i));
    return each.info;
  }
  return nullptr;
}

void OfiDevice::reject(fi_info* request) {
  fi_reject(listener_.get(), request->handle, nullptr, 0);
  functions_.freeinfo(request);
}

void OfiDevice::forget(OfiQueuePair& pair) {
  pairs_.erase(pair.number());
  std::erase(stalled_, &pair);
  std::erase_if(requests_, [&](const Request& each) {
    if (each.greeting.to != pair.number()) return false;
    reject(each.info);
    return true;
  });
}

void OfiDevice::stall(OfiQueuePair& pair) {
  if (std::find(stalled_.begin(), stalled_.end(), &pair) == stalled_.end()) stalled_.push_back(&pair);
}

// The devices of this host.

Result<std::vector<std::unique_ptr<Device>>> OfiDeviceSource::open_devices() {
  std::vector<std::unique_ptr<Device>> devices;
  if (interfaces_.empty()) return devices;
  auto functions = load_ofi_functions();
  if (!functions) return functions.take_error();
  auto wanted = listed_interfaces(interfaces_);
  if (!wanted) return wanted.take_error();
  for (const InterfaceAttributes& each : wanted.value()) {
    auto device = OfiDevice::make(functions.value(), each);
    if (!device) return device.take_error();
    devices.push_back(std::move(device).value());
  }
  return devices;
}

}  // namespace hawser::rdma
