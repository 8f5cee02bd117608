#include "access/verbs/verbs_translation.h"

#include <sys/resource.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "base/failure.h"

namespace hawser::rdma {

Error refused(std::string_view call, std::string_view device, int error) {
  const char* const name = ::strerrorname_np(error);
  const char* const meaning = ::strerrordesc_np(error);
  return failure(ErrorKind::other, "{} on {}: {} ({})", call, device,
                 meaning != nullptr ? meaning : "unknown error",
                 name != nullptr ? std::string(name) : std::to_string(error));
}

Error refused_memory(std::string_view call, std::string_view device, int error) {
  Error plain = refused(call, device, error);
  rlimit limit{};
  if (error != ENOMEM || ::getrlimit(RLIMIT_MEMLOCK, &limit) != 0) return plain;
  const std::string most =
      limit.rlim_cur == RLIM_INFINITY ? "unlimited" : fmt::format("{} KiB", limit.rlim_cur / 1024);
  return failure(plain.kind,
                 "{}; this process may lock {} of memory (RLIMIT_MEMLOCK, `ulimit -l`): raise that where the "
                 "job is started",
                 plain.text, most);
}

std::uint8_t timeout_code(Nanoseconds time) {
  constexpr Nanoseconds unit = 4096;  // ns
  std::uint8_t code = 1;
  while (code < 31 && (unit << code) < time) ++code;
  return code;
}

std::int64_t nominal_rate(std::uint8_t active_width, std::uint8_t active_speed) {
  const auto lanes = [&]() -> std::int64_t {
    switch (active_width) {
      case 1:
        return 1;
      case 2:
        return 4;
      case 4:
        return 8;
      case 8:
        return 12;
      case 16:
        return 2;
      default:
        return 0;
    }
  };
  const auto lane_rate = [&]() -> std::int64_t {  // bytes per second
    switch (active_speed) {
      case 1:
        return 250'000'000;  // SDR: 2.5 Gbit/s, 8b/10b
      case 2:
        return 500'000'000;  // DDR
      case 4:
        return 1'000'000'000;  // QDR
      case 8:
        return 1'250'000'000;  // FDR10: 10.3125 Gbit/s, 64b/66b
      case 16:
        return 1'704'545'454;  // FDR: 14.0625 Gbit/s
      case 32:
        return 3'125'000'000;  // EDR: 25.78125 Gbit/s
      case 64:
        return 6'250'000'000;  // HDR, parity taken off
      case 128:
        return 12'500'000'000;  // NDR
      default:
        return 0;
    }
  };
  return lanes() * lane_rate();
}

Status translate_status(ibv_wc_status status) {
  switch (status) {
    case IBV_WC_SUCCESS:
      return Status::success;
    case IBV_WC_WR_FLUSH_ERR:
      return Status::flushed;
    case IBV_WC_RETRY_EXC_ERR:
      return Status::retry_exceeded;
    case IBV_WC_RNR_RETRY_EXC_ERR:
      return Status::rnr_exceeded;
    case IBV_WC_REM_ACCESS_ERR:
    case IBV_WC_REM_INV_REQ_ERR:
    case IBV_WC_REM_INV_RD_REQ_ERR:
      return Status::remote_access;
    case IBV_WC_LOC_LEN_ERR:
    case IBV_WC_LOC_QP_OP_ERR:
    case IBV_WC_LOC_EEC_OP_ERR:
    case IBV_WC_LOC_PROT_ERR:
    case IBV_WC_LOC_ACCESS_ERR:
    case IBV_WC_LOC_RDD_VIOL_ERR:
    case IBV_WC_MW_BIND_ERR:
      return Status::local_error;
    case IBV_WC_FATAL_ERR:
      return Status::fatal;
    default:
      return Status::other;
  }
}

void translate(const ibv_wc& from, Completion& to) {
  to.id = from.wr_id;
  to.status = translate_status(from.status);
  switch (from.opcode) {
    case IBV_WC_RDMA_WRITE:
      to.opcode = Opcode::write;
      break;
    case IBV_WC_RDMA_READ:
      to.opcode = Opcode::read;
      break;
    case IBV_WC_RECV:
    case IBV_WC_RECV_RDMA_WITH_IMM:
      to.opcode = Opcode::receive;
      break;
    default:
      to.opcode = Opcode::send;
      break;
  }
  to.bytes = from.byte_len;
  to.queue_pair = from.qp_num;
  to.source_queue_pair = from.src_qp;
  to.source_lid = static_cast<std::uint16_t>(from.slid);
}

DeviceEvent translate(const ibv_async_event& event) {
  using Kind = DeviceEvent::Kind;
  const auto of_port = [&](Kind kind) {
    return DeviceEvent{kind, static_cast<std::uint8_t>(event.element.port_num), 0};
  };
  const auto of_queue_pair = [&](Kind kind) { return DeviceEvent{kind, 0, event.element.qp->qp_num}; };
  switch (event.event_type) {
    case IBV_EVENT_PORT_ACTIVE:
      return of_port(Kind::port_active);
    case IBV_EVENT_PORT_ERR:
      return of_port(Kind::port_down);
    case IBV_EVENT_LID_CHANGE:
    case IBV_EVENT_PKEY_CHANGE:
    case IBV_EVENT_SM_CHANGE:
    case IBV_EVENT_CLIENT_REREGISTER:
    case IBV_EVENT_GID_CHANGE:
      return of_port(Kind::address_changed);
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
      return of_queue_pair(Kind::queue_pair_fatal);
    case IBV_EVENT_PATH_MIG:
      return of_queue_pair(Kind::path_migrated);
    case IBV_EVENT_PATH_MIG_ERR:
      return of_queue_pair(Kind::path_migration_failed);
    case IBV_EVENT_QP_LAST_WQE_REACHED:
      return of_queue_pair(Kind::last_receive_reached);
    case IBV_EVENT_DEVICE_FATAL:
    case IBV_EVENT_CQ_ERR:  // every queue pair of the device completes into it
    case IBV_EVENT_SRQ_ERR:
      return {Kind::device_fatal, 0, 0};
    default:
      return {};
  }
}

ibv_ah_attr address_vector(const PortAttributes& own, const Route& route) {
  constexpr std::uint8_t hop_limit = 64;
  constexpr std::size_t prefix_bytes = 8;
  const PortAddress& to = route.destination;
  ibv_ah_attr attributes{};
  attributes.port_num = route.port;
  attributes.sl = route.service_level;
  const bool ethernet = own.address.link_layer == LinkLayer::ethernet;
  if (!ethernet) {
    attributes.dlid = static_cast<std::uint16_t>(to.lid + route.destination_path_bits);
    attributes.src_path_bits = route.source_path_bits;
  }
  const int kind = ethernet ? common_kind(own.address, to) : -1;
  const Gid& there = to.gids[static_cast<std::size_t>(kind < 0 ? 0 : form_of(kind))];
  const bool same_subnet =
      std::equal(there.begin(), there.begin() + prefix_bytes, own.address.gids[0].begin());
  if (ethernet || !same_subnet) {
    attributes.is_global = 1;
    std::memcpy(attributes.grh.dgid.raw, there.data(), there.size());
    attributes.grh.flow_label = route.flow_label & 0xfffff;
    attributes.grh.sgid_index = kind < 0 ? std::uint8_t{0} : own.gid_indices[static_cast<std::size_t>(kind)];
    attributes.grh.hop_limit = hop_limit;
  }
  return attributes;
}

// Groups have IPv6 GIDs, so on Ethernet an IPv6 address of ours goes with them, if there is one.
ibv_ah_attr group_vector(const PortAttributes& own, std::uint8_t port, const MulticastGroup& group) {
  ibv_ah_attr attributes{};
  attributes.port_num = port;
  attributes.sl = group.service_level;
  attributes.is_global = 1;
  std::memcpy(attributes.grh.dgid.raw, group.gid.data(), group.gid.size());
  if (own.address.link_layer != LinkLayer::ethernet) {
    attributes.dlid = group.lid;
    return attributes;
  }
  attributes.grh.hop_limit = 1;
  for (const std::size_t kind : {2, 1, 0, 5, 4, 3})
    if ((own.address.kinds >> kind & 1) != 0) {
      attributes.grh.sgid_index = own.gid_indices[kind];
      break;
    }
  return attributes;
}

ibv_mtu path_mtu(const PortAddress& own, const Route& route) {
  int smaller = std::min(own.mtu, route.destination.mtu);
  if (route.mtu != 0) smaller = std::min<int>(smaller, route.mtu);
  return static_cast<ibv_mtu>(std::clamp<int>(smaller, IBV_MTU_256, IBV_MTU_4096));
}

int gid_kind(const Gid& gid, bool version_2) {
  enum Form : int { ipv4, ipv6, link_local };
  if (gid == Gid{}) return -1;
  constexpr std::array<std::uint8_t, 12> mapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  const bool local = gid[0] == 0xfe && (gid[1] & 0xc0) == 0x80;
  const Form form = std::equal(mapped.begin(), mapped.end(), gid.begin()) ? ipv4 : local ? link_local : ipv6;
  return version_2 ? form : form + gid_forms;
}

std::uint8_t message_code(std::uint32_t max_msg_sz) {
  return static_cast<std::uint8_t>(std::bit_width(max_msg_sz) - 1);
}

}  // namespace hawser::rdma
