// What a device, its ports and tables are.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "base/version.h"
#include "provider/api/objects.h"

#undef ibv_query_port

using namespace hawser::verbs;

namespace hawser::verbs {
namespace {

// The partition table has the default entry only.
constexpr std::uint16_t default_partition = 0xffff;
// A ConnectX-3: known to programs that keep tables of devices.
constexpr std::uint32_t vendor = 0x02c9, part = 4099;

int mtu_code(std::uint32_t bytes) { return std::bit_width(bytes) - 8; }  // IBV_MTU_256 is 1

// Programs print these as a rate; the nearest standard speed of four lanes that is not slower.
std::uint8_t speed_code(double bytes_per_second) {
  if (bytes_per_second == 0 || bytes_per_second > 7e9) return 32;  // EDR
  if (bytes_per_second > 4e9) return 16;                           // FDR
  if (bytes_per_second > 2e9) return 4;                            // QDR
  return bytes_per_second > 1e9 ? 2 : 1;
}

void fill(const PortAttributes& facts, ibv_port_attr& port) {
  port.state = facts.active ? IBV_PORT_ACTIVE : IBV_PORT_DOWN;
  port.max_mtu = static_cast<ibv_mtu>(mtu_code(facts.mtu));
  port.active_mtu = static_cast<ibv_mtu>(mtu_code(facts.active_mtu));
  port.gid_tbl_len = static_cast<int>(facts.gid_entries);
  constexpr std::uint32_t auto_migration = 1u << 3;  // IsAutomaticMigrationSupported
  port.port_cap_flags = auto_migration;
  port.max_msg_sz = static_cast<std::uint32_t>(facts.max_message);
  port.pkey_tbl_len = 1;
  port.lid = static_cast<std::uint16_t>(facts.ethernet ? 0 : facts.lid);
  port.sm_lid = static_cast<std::uint16_t>(facts.ethernet ? 0 : facts.sm_lid);
  port.sm_sl = static_cast<std::uint8_t>(facts.ethernet ? 0 : facts.sm_sl);
  port.lmc = static_cast<std::uint8_t>(facts.ethernet ? 0 : facts.lmc);
  port.max_vl_num = 4;
  port.active_width = 2;  // 4X
  port.active_speed = speed_code(facts.rate);
  constexpr std::uint8_t link_up = 5, disabled = 3;
  port.phys_state = facts.active ? link_up : disabled;
  port.link_layer = facts.ethernet ? IBV_LINK_LAYER_ETHERNET : IBV_LINK_LAYER_INFINIBAND;
}

void fill(const AdapterAttributes& facts, ibv_device_attr& out) {
  std::snprintf(out.fw_ver, sizeof out.fw_ver, "%s", std::string(version).c_str());
  out.node_guid = out.sys_image_guid = __builtin_bswap64(facts.guid);
  out.max_mr_size = UINT64_MAX;
  out.page_size_cap = 0xfffffe00;
  out.vendor_id = vendor;
  out.vendor_part_id = part;
  out.max_qp = static_cast<int>(facts.max_qp);
  out.max_qp_wr = static_cast<int>(facts.max_qp_wr);
  out.device_cap_flags = IBV_DEVICE_AUTO_PATH_MIG | IBV_DEVICE_PORT_ACTIVE_EVENT | IBV_DEVICE_SYS_IMAGE_GUID |
                         IBV_DEVICE_RC_RNR_NAK_GEN | IBV_DEVICE_CURR_QP_STATE_MOD | IBV_DEVICE_XRC |
                         IBV_DEVICE_MEM_WINDOW | IBV_DEVICE_MEM_WINDOW_TYPE_2B |
                         IBV_DEVICE_MEM_MGT_EXTENSIONS;
  out.max_sge = out.max_sge_rd = static_cast<int>(facts.max_sge);
  out.max_cq = 65536;
  out.max_cqe = static_cast<int>(facts.max_cqe);
  out.max_mr = out.max_mw = 1 << 20;
  out.max_pd = 32768;
  out.max_qp_rd_atom = out.max_qp_init_rd_atom = static_cast<int>(facts.max_rd_atomic);
  out.max_res_rd_atom = static_cast<int>(facts.max_rd_atomic * facts.max_qp);
  out.atomic_cap = IBV_ATOMIC_HCA;
  out.max_mcast_grp = 8192;
  out.max_mcast_qp_attach = 248;
  out.max_total_mcast_qp_attach = 8192 * 248;
  out.max_ah = INT32_MAX;
  out.max_srq = 65536;
  out.max_srq_wr = static_cast<int>(facts.max_srq_wr);
  out.max_srq_sge = static_cast<int>(facts.max_sge);
  out.max_pkeys = 1;
  out.local_ca_ack_delay = 15;
  out.phys_port_cnt = static_cast<std::uint8_t>(facts.ports);
}

PortAttributes ask_port(ibv_context* context, std::uint32_t port, int& error) {
  Request request;
  request.call = Call::query_port;
  request.number = port;
  const Reply reply = OpenedDevice::of(context).link->call(request);
  error = reply.error;
  return reply.port;
}

Reply ask_gids(ibv_context* context, std::uint32_t port) {
  Request request;
  request.call = Call::query_gids;
  request.number = port;
  return OpenedDevice::of(context).link->call(request);
}

ibv_gid_entry entry_of(const fabric::GidEntry& from, std::uint32_t port, std::uint32_t index) {
  ibv_gid_entry entry{};
  std::memcpy(entry.gid.raw, from.gid.data(), sizeof entry.gid.raw);
  entry.gid_index = index;
  entry.port_num = port;
  entry.gid_type = from.type == fabric::GidType::infiniband ? IBV_GID_TYPE_IB
                   : from.type == fabric::GidType::roce_v1  ? IBV_GID_TYPE_ROCE_V1
                                                            : IBV_GID_TYPE_ROCE_V2;
  return entry;
}

// ENODATA: an empty entry.
int ask_entry(ibv_context* context, std::uint32_t port, std::uint32_t index, ibv_gid_entry& entry) {
  const Reply reply = ask_gids(context, port);
  if (reply.error != 0) return reply.error;
  if (index >= most_gids) return EINVAL;
  entry = entry_of(reply.gids[index], port, index);
  return reply.gids[index].empty() ? ENODATA : 0;
}

}  // namespace

int query_port(ibv_context* context, std::uint8_t port, ibv_port_attr* out, std::size_t size) {
  int error = 0;
  const PortAttributes facts = ask_port(context, port, error);
  if (error != 0) return error;
  ibv_port_attr attributes{};
  fill(facts, attributes);
  std::memset(out, 0, size);
  std::memcpy(out, &attributes, std::min(size, sizeof attributes));
  return 0;
}

int query_device_ex(ibv_context* context, const ibv_query_device_ex_input* input, ibv_device_attr_ex* out,
                    std::size_t size) {
  if (input != nullptr && input->comp_mask != 0) return EINVAL;
  ibv_device_attr_ex attributes{};
  fill(OpenedDevice::of(context).listed->facts, attributes.orig_attr);
  attributes.phys_port_cnt_ex = attributes.orig_attr.phys_port_cnt;
  attributes.device_cap_flags_ex = attributes.orig_attr.device_cap_flags;
  attributes.completion_timestamp_mask = UINT64_MAX;
  attributes.hca_core_clock = 1'000'000;  // kHz: timestamps are nanoseconds
  std::memset(out, 0, size);
  std::memcpy(out, &attributes, std::min(size, sizeof attributes));
  return 0;
}

int query_rt_values(ibv_context* context, ibv_values_ex* values) {
  if ((values->comp_mask & ~static_cast<std::uint32_t>(IBV_VALUES_MASK_RAW_CLOCK)) != 0) return EOPNOTSUPP;
  Request request;
  request.call = Call::query_time;
  const Reply reply = OpenedDevice::of(context).link->call(request);
  values->raw_clock = {0, reply.time};  // ticks, all in the second field, as devices give them
  return reply.error;
}

}  // namespace hawser::verbs

extern "C" {

int ibv_query_device(ibv_context* context, ibv_device_attr* out) {
  *out = {};
  fill(OpenedDevice::of(context).listed->facts, *out);
  return 0;
}

// Programs of before port_cap_flags2 know a shorter struct.
int ibv_query_port(ibv_context* context, std::uint8_t port, _compat_ibv_port_attr* out) {
  return query_port(context, port, reinterpret_cast<ibv_port_attr*>(out),
                    offsetof(ibv_port_attr, port_cap_flags2));
}

int ibv_query_gid(ibv_context* context, std::uint8_t port, int index, union ibv_gid* gid) {
  ibv_gid_entry entry{};
  const int error = ask_entry(context, port, static_cast<std::uint32_t>(index), entry);
  *gid = entry.gid;
  if (error == 0 || error == ENODATA) return 0;
  errno = error;
  return -1;
}

int _ibv_query_gid_ex(ibv_context* context, std::uint32_t port, std::uint32_t index, ibv_gid_entry* out,
                      std::uint32_t flags, std::size_t size) {
  if (flags != 0) return EOPNOTSUPP;
  ibv_gid_entry entry;
  const int error = ask_entry(context, port, index, entry);
  if (error == 0) std::memcpy(out, &entry, std::min(size, sizeof entry));
  return error;
}

ssize_t _ibv_query_gid_table(ibv_context* context, ibv_gid_entry* out, std::size_t most, std::uint32_t flags,
                             std::size_t size) {
  if (flags != 0 || size < sizeof(ibv_gid_entry)) return -EOPNOTSUPP;
  std::size_t found = 0;
  const std::uint32_t ports = OpenedDevice::of(context).listed->facts.ports;
  for (std::uint32_t port = 1; port <= ports; ++port) {
    const Reply reply = ask_gids(context, port);
    if (reply.error != 0) return -reply.error;
    for (std::uint32_t index = 0; index < most_gids; ++index) {
      if (reply.gids[index].empty()) continue;
      if (found == most) return -EINVAL;
      const ibv_gid_entry entry = entry_of(reply.gids[index], port, index);
      std::memcpy(reinterpret_cast<char*>(out) + size * found++, &entry, sizeof entry);
    }
  }
  return static_cast<ssize_t>(found);
}

// 0: InfiniBand or RoCE v1; 1: RoCE v2 (the numbers of the kernel's table, one less than ibv_gid_type).
int ibv_query_gid_type(ibv_context* context, std::uint8_t port, unsigned int index, int* type) {
  ibv_gid_entry entry;
  const int error = ask_entry(context, port, index, entry);
  if (error != 0 && error != ENODATA) {
    errno = error;
    return -1;
  }
  *type = entry.gid_type == IBV_GID_TYPE_ROCE_V2 ? 1 : 0;
  return 0;
}

int ibv_query_pkey(ibv_context*, std::uint8_t, int index, __be16* pkey) {
  if (index != 0) {
    errno = EINVAL;
    return -1;
  }
  *pkey = default_partition;
  return 0;
}

int ibv_get_pkey_index(ibv_context*, std::uint8_t, __be16 pkey) {
  if (pkey == default_partition) return 0;
  errno = EINVAL;
  return -1;
}

}  // extern "C"
