#include "access/verbs/verbs_device.h"

#include <endian.h>
#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "access/verbs/verbs_datagram.h"
#include "access/verbs/verbs_queue_pair.h"
#include "access/verbs/verbs_queues.h"
#include "access/verbs/verbs_translation.h"
#include "base/failure.h"

namespace hawser::rdma {
namespace {

// The inline function of <infiniband/verbs.h> would need the library when the program is loaded.
int query_port_attributes(const VerbsFunctions& functions, ibv_context* context, std::uint8_t port,
                          ibv_port_attr& attributes) {
  std::memset(&attributes, 0, sizeof attributes);
  verbs_context* const extended = verbs_get_ctx_op(context, query_port);
  if (extended != nullptr) return extended->query_port(context, port, &attributes, sizeof attributes);
  return functions.query_port(context, port, reinterpret_cast<_compat_ibv_port_attr*>(&attributes));
}

Result<> never_wait(int descriptor, std::string_view device) {
  const int flags = ::fcntl(descriptor, F_GETFL);
  if (flags < 0 || ::fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) < 0)
    return refused("fcntl of the descriptor of events", device, errno);
  return {};
}

}  // namespace

VerbsDevice::VerbsDevice(const VerbsFunctions& functions, ibv_context* context)
    : functions_(functions), context_(context) {
  attributes_.name = functions_.get_device_name(context->device);
}

Result<std::unique_ptr<VerbsDevice>> VerbsDevice::make(const VerbsFunctions& functions,
                                                       ibv_context* context) {
  std::unique_ptr<VerbsDevice> device(new VerbsDevice(functions, context));
  HAWSER_TRY(device->open());
  return device;
}

VerbsDevice::~VerbsDevice() { close(); }

// Descriptors that are closed leave the epoll set by themselves.
void VerbsDevice::close() {
  HAWSER_ASSERT(datagrams_.empty());
  if (channel_ != nullptr) functions_.destroy_comp_channel(std::exchange(channel_, nullptr));
  if (domain_ != nullptr) functions_.dealloc_pd(std::exchange(domain_, nullptr));
  if (context_ != nullptr) functions_.close_device(std::exchange(context_, nullptr));
  armed_ = false;
}

Result<> VerbsDevice::open_again() {
  HAWSER_ASSERT(context_ == nullptr);
  int count = 0;
  ibv_device** const list = functions_.get_device_list(&count);
  if (list == nullptr) return refused("ibv_get_device_list", name(), errno);
  for (int i = 0; i < count && context_ == nullptr; ++i)
    if (functions_.get_device_name(list[i]) == name()) context_ = functions_.open_device(list[i]);
  const int error = errno;
  functions_.free_device_list(list);
  if (context_ == nullptr) return refused("ibv_open_device", name(), error);
  Result<> opened = open();
  if (!opened) close();
  return opened;
}

Result<> VerbsDevice::open() {
  ibv_device_attr attributes{};
  if (const int error = functions_.query_device(context_, &attributes); error != 0)
    return refused("ibv_query_device", name(), error);
  attributes_.ports = attributes.phys_port_cnt;
  attributes_.send_queue_depth = attributes.max_qp_wr;
  attributes_.queue_pairs = attributes.max_qp;
  attributes_.completion_queue_depth = attributes.max_cqe;
  attributes_.shared_receive_depth = attributes.max_srq_wr;
  attributes_.outstanding_reads = std::min(attributes.max_qp_rd_atom, attributes.max_qp_init_rd_atom);
  attributes_.path_migration = (attributes.device_cap_flags & IBV_DEVICE_AUTO_PATH_MIG) != 0;
  ports_.assign(attributes_.ports, {});
  domain_ = functions_.alloc_pd(context_);
  if (domain_ == nullptr) return refused("ibv_alloc_pd", name(), errno);
  channel_ = functions_.create_comp_channel(context_);
  if (channel_ == nullptr) return refused("ibv_create_comp_channel", name(), errno);
  attributes_.segments = std::clamp(std::min(attributes.max_sge, attributes.max_sge_rd), 1, longest_list);
  attributes_.inline_bytes = granted_inline_bytes();
  if (attributes_.inline_bytes == 0) {
    attributes_.segments = 1;
    attributes_.inline_bytes = granted_inline_bytes();
  }
  if (context_->async_fd < 0 || channel_->fd < 0) return {};  // nobody can sleep here
  if (!ready_) {
    auto made = ReadySet::make();
    if (!made) return failure(ErrorKind::other, "adapter {}: {}", name(), made.error().text);
    ready_ = std::move(made).value();
  }
  HAWSER_TRY(watch(context_->async_fd));
  return watch(channel_->fd);
}

Result<> VerbsDevice::watch(int descriptor) {
  HAWSER_TRY(never_wait(descriptor, name()));
  auto added = ready_->add(descriptor, 0, true, false);
  if (!added) return failure(ErrorKind::other, "adapter {}: {}", name(), added.error().text);
  return {};
}

// Devices tell what they grant only when a queue pair is made.
int VerbsDevice::granted_inline_bytes() const {
  ibv_cq* const queue = functions_.create_cq(context_, 1, nullptr, nullptr, 0);
  if (queue == nullptr) return 0;
  int granted = 0;
  for (std::uint32_t wanted = 256; wanted >= 32 && granted == 0; wanted /= 2) {
    ibv_qp_init_attr attributes{};
    attributes.send_cq = attributes.recv_cq = queue;
    attributes.qp_type = IBV_QPT_RC;
    attributes.cap = {1, 1, send_segments(), 1, wanted};
    ibv_qp* const trial = functions_.create_qp(domain_, &attributes);
    if (trial == nullptr) continue;
    granted = static_cast<int>(wanted);
    functions_.destroy_qp(trial);
  }
  functions_.destroy_cq(queue);
  return granted;
}

Result<> VerbsDevice::needs_open() const {
  if (context_ == nullptr) return failure(ErrorKind::io, "adapter {} is closed", name());
  return {};
}

Result<PortAttributes> VerbsDevice::query_port(std::uint8_t port) {
  if (port < 1 || port > attributes_.ports)
    return failure(ErrorKind::invalid_argument, "{} has no port {}; it has 1 to {}", name(), port,
                   attributes_.ports);
  HAWSER_TRY(needs_open());
  ibv_port_attr queried;
  if (const int error = query_port_attributes(functions_, context_, port, queried); error != 0)
    return refused("ibv_query_port", fmt::format("{} port {}", name(), port), error);
  PortAttributes attributes;
  attributes.active = queried.state == IBV_PORT_ACTIVE;
  attributes.address.lid = queried.lid;
  attributes.address.lmc = queried.lmc;
  attributes.address.link_layer =
      queried.link_layer == IBV_LINK_LAYER_ETHERNET ? LinkLayer::ethernet : LinkLayer::infiniband;
  attributes.address.mtu = static_cast<std::uint8_t>(queried.active_mtu);
  attributes.sm_lid = queried.sm_lid;
  attributes.sm_sl = queried.sm_sl;
  attributes.bytes_per_second = nominal_rate(queried.active_width, queried.active_speed);
  attributes.address.longest_message = message_code(std::max(queried.max_msg_sz, 1u));
  take_gids(port, queried.gid_tbl_len, attributes);
  PortAttributes& known = ports_[port - 1u];
  const bool moved = !(known.address == attributes.address) || known.gid_indices != attributes.gid_indices;
  known = attributes;
  if (moved)
    for (VerbsDatagramQueuePair* const each : datagrams_)
      if (each->port() == port) each->forget_addresses();
  return attributes;
}

// What is filled in of a port's table: by one call if there is such, for a table has up to 256 entries and is
// asked for at every look at the port.
std::vector<ibv_gid_entry> VerbsDevice::gid_table(std::uint8_t port, int entries) const {
  const auto most = static_cast<std::size_t>(std::clamp(entries, 1, 256));
  std::vector<ibv_gid_entry> table;
  if (functions_.query_gid_table != nullptr) {
    table.resize(most * attributes_.ports);  // it is of all ports
    const ssize_t found =
        functions_.query_gid_table(context_, table.data(), table.size(), 0, sizeof(ibv_gid_entry));
    table.resize(static_cast<std::size_t>(std::max<ssize_t>(found, 0)));
    std::erase_if(table, [port](const ibv_gid_entry& entry) { return entry.port_num != port; });
    if (found >= 0) return table;
  }
  for (std::uint32_t index = 0; index < most; ++index) {
    ibv_gid_entry entry{};
    entry.gid_index = index;
    entry.gid_type = IBV_GID_TYPE_ROCE_V2;  // as far as known
    const int error = functions_.query_gid_ex != nullptr
                          ? functions_.query_gid_ex(context_, port, index, &entry, 0, sizeof entry)
                          : functions_.query_gid(context_, port, static_cast<int>(index), &entry.gid);
    if (error == 0) table.push_back(entry);
  }
  return table;
}

// InfiniBand: entry 0. Ethernet: one of each kind; of several the one that others know already, wherever it
// stands now, else the first.
void VerbsDevice::take_gids(std::uint8_t port, int entries, PortAttributes& attributes) const {
  PortAddress& address = attributes.address;
  if (address.link_layer != LinkLayer::ethernet) {
    ibv_gid gid{};
    if (functions_.query_gid(context_, port, 0, &gid) == 0)
      std::memcpy(address.gids[0].data(), gid.raw, sizeof gid.raw);
    return;
  }
  const PortAddress& known = ports_[port - 1u].address;
  const std::vector<ibv_gid_entry> table = gid_table(port, entries);
  // Version 2 decides which address of a form others are told; version 1 is there too if it has the same.
  for (const bool version_2 : {true, false})
    for (const ibv_gid_entry& entry : table) {
      Gid gid;
      std::memcpy(gid.data(), entry.gid.raw, gid.size());
      const int kind = gid_kind(gid, entry.gid_type == IBV_GID_TYPE_ROCE_V2);
      if (kind < 0 || (kind < gid_forms) != version_2 || entry.gid_index > UINT8_MAX) continue;
      const auto form = static_cast<std::size_t>(form_of(kind));
      const bool first = address.gids[form] == Gid{};
      const bool same = address.gids[form] == gid;
      const bool settled = !version_2 && (address.kinds >> form & 1) != 0;
      const bool better = gid == known.gids[form] && !same && !settled;
      const auto bit = static_cast<std::uint8_t>(1u << kind);
      if (!first && !better && (!same || (address.kinds & bit) != 0)) continue;
      address.gids[form] = gid;
      address.kinds |= bit;
      attributes.gid_indices[static_cast<std::size_t>(kind)] = static_cast<std::uint8_t>(entry.gid_index);
    }
}

Result<PortAttributes> VerbsDevice::port_attributes(std::uint8_t port) {
  if (port >= 1 && port <= attributes_.ports && ports_[port - 1u].address.mtu != 0) return ports_[port - 1u];
  return query_port(port);
}

Result<std::uint16_t> VerbsDevice::partition_index(std::uint8_t port, std::uint16_t key) {
  constexpr std::uint16_t membership = 0x8000, most_entries = 1024;
  if (key == 0) key = partition_;
  const auto own = port_attributes(port);
  if (!own) return Error(own.error());
  if (key == 0 || own.value().address.link_layer == LinkLayer::ethernet) return std::uint16_t{0};
  std::optional<std::uint16_t> limited;  // a member that reaches full members only
  for (std::uint16_t index = 0; index < most_entries; ++index) {
    __be16 entry = 0;
    if (functions_.query_pkey(context_, port, index, &entry) != 0) break;
    const std::uint16_t found = be16toh(entry);
    if (((found ^ key) & ~membership) != 0) continue;
    if ((found & membership) != 0) return index;
    if (!limited) limited = index;
  }
  if (limited) return *limited;
  return failure(
      ErrorKind::other,
      "{} port {} is not in partition {:#06x}: its table of P_Keys (ibv_query_pkey) has no such entry",
      name(), port, key);
}

Result<std::unique_ptr<MemoryRegion>> VerbsDevice::register_memory(void* address, std::size_t bytes,
                                                                   Access access) {
  HAWSER_TRY(needs_open());
  return VerbsMemoryRegion::make(*this, address, bytes, access);
}

Result<std::unique_ptr<CompletionQueue>> VerbsDevice::make_completion_queue(std::int32_t depth) {
  HAWSER_TRY(needs_open());
  return VerbsCompletionQueue::make(*this, depth);
}

Result<std::unique_ptr<SharedReceiveQueue>> VerbsDevice::make_shared_receive_queue(std::int32_t depth) {
  HAWSER_TRY(needs_open());
  return VerbsSharedReceiveQueue::make(*this, depth);
}

Result<std::unique_ptr<QueuePair>> VerbsDevice::make_queue_pair(const QueuePairInitAttributes& shape) {
  HAWSER_TRY(needs_open());
  return VerbsQueuePair::make(*this, shape);
}

Result<std::unique_ptr<DatagramQueuePair>> VerbsDevice::make_datagram_queue_pair(std::uint8_t port,
                                                                                 std::uint32_t key,
                                                                                 std::uint32_t receives) {
  HAWSER_TRY(needs_open());
  auto made = VerbsDatagramQueuePair::make(*this, port, key, receives);
  if (!made) return made.take_error();
  datagrams_.push_back(made.value().get());
  return std::unique_ptr<DatagramQueuePair>(std::move(made).value());
}

void VerbsDevice::forget(VerbsDatagramQueuePair& gone) { std::erase(datagrams_, &gone); }

bool VerbsDevice::next_event(DeviceEvent& event) {
  ibv_async_event found;
  if (context_ == nullptr || functions_.get_async_event(context_, &found) != 0) return false;
  event = translate(found);
  functions_.ack_async_event(&found);
  return true;
}

Result<> VerbsDevice::arm(ibv_cq* queue, bool solicited_only) {
  while (armed_) {
    ibv_cq* from = nullptr;
    void* owner = nullptr;
    armed_ = functions_.get_cq_event(channel_, &from, &owner) == 0;
    if (armed_) functions_.ack_cq_events(from, 1);
  }
  armed_ = true;
  if (const int error = ibv_req_notify_cq(queue, solicited_only ? 1 : 0); error != 0)
    return refused("ibv_req_notify_cq", name(), error);
  return {};
}

Result<> VerbsDevice::arm_datagrams() {
  for (VerbsDatagramQueuePair* const each : datagrams_) HAWSER_TRY(each->arm());
  return {};
}

Result<std::vector<std::unique_ptr<Device>>> VerbsDeviceSource::open_devices() {
  int count = 0;
  errno = 0;
  ibv_device** const list = functions_.get_device_list(&count);
  std::vector<std::unique_ptr<Device>> devices;
  if (list == nullptr) {
    if (errno == 0 || errno == ENOSYS) return devices;  // the kernel has no adapters
    return refused("ibv_get_device_list", "this host", errno);
  }
  Result<> outcome;  // of the last that failed
  for (int i = 0; i < count; ++i) {
    if (list[i]->node_type != IBV_NODE_CA || list[i]->transport_type != IBV_TRANSPORT_IB) continue;
    ibv_context* const context = functions_.open_device(list[i]);
    if (context == nullptr) {
      outcome = refused("ibv_open_device", functions_.get_device_name(list[i]), errno);
      continue;
    }
    auto device = VerbsDevice::make(functions_, context);
    if (device)
      devices.push_back(std::move(device).value());
    else
      outcome = device.take_error();
  }
  functions_.free_device_list(list);
  // One adapter that is broken does not take the others away.
  if (!outcome && devices.empty()) return outcome.take_error();
  return devices;
}

}  // namespace hawser::rdma
