// Names of constants, conversions of rates, and questions about the machine that have one answer here.
#include <cstdio>
#include <cstring>
#include <iterator>

#include "provider/api/objects.h"

namespace {

template <std::size_t Count>
const char* pick(const char* const (&names)[Count], int value) {
  return value >= 0 && static_cast<std::size_t>(value) < Count && names[value] != nullptr ? names[value]
                                                                                          : "unknown";
}

struct Rate {
  ibv_rate rate;
  int multiple;  // of 2.5 Gb/s; -1: none
  int mbps;
};
constexpr Rate rates[] = {
    {IBV_RATE_2_5_GBPS, 1, 2500},    {IBV_RATE_5_GBPS, 2, 5000},       {IBV_RATE_10_GBPS, 4, 10000},
    {IBV_RATE_20_GBPS, 8, 20000},    {IBV_RATE_30_GBPS, 12, 30000},    {IBV_RATE_40_GBPS, 16, 40000},
    {IBV_RATE_60_GBPS, 24, 60000},   {IBV_RATE_80_GBPS, 32, 80000},    {IBV_RATE_120_GBPS, 48, 120000},
    {IBV_RATE_14_GBPS, -1, 14062},   {IBV_RATE_56_GBPS, -1, 56250},    {IBV_RATE_112_GBPS, -1, 112500},
    {IBV_RATE_168_GBPS, -1, 168750}, {IBV_RATE_25_GBPS, 10, 25781},    {IBV_RATE_100_GBPS, 40, 103125},
    {IBV_RATE_200_GBPS, 80, 206250}, {IBV_RATE_300_GBPS, 120, 309375}, {IBV_RATE_28_GBPS, 11, 28125},
    {IBV_RATE_50_GBPS, 20, 53125},   {IBV_RATE_400_GBPS, 160, 425000}, {IBV_RATE_600_GBPS, 240, 637500},
};

}  // namespace

extern "C" {

const char* ibv_node_type_str(ibv_node_type type) {
  static constexpr const char* names[] = {nullptr, "InfiniBand channel adapter", "InfiniBand switch",
                                          "InfiniBand router", "iWARP NIC"};
  return pick(names, type);
}

const char* ibv_port_state_str(ibv_port_state state) {
  static constexpr const char* names[] = {"no state change (NOP)", "down", "init", "armed", "active",
                                          "active defer"};
  return pick(names, state);
}

const char* ibv_event_type_str(ibv_event_type event) {
  static constexpr const char* names[] = {"CQ error",
                                          "local work queue catastrophic error",
                                          "invalid request local work queue error",
                                          "local access violation work queue error",
                                          "communication established",
                                          "send queue drained",
                                          "path migrated",
                                          "path migration request error",
                                          "local catastrophic error",
                                          "port active",
                                          "port error",
                                          "LID change",
                                          "P_Key change",
                                          "SM change",
                                          "SRQ catastrophic error",
                                          "SRQ limit reached",
                                          "last WQE reached",
                                          "client reregistration",
                                          "GID table change",
                                          "WQ fatal"};
  return pick(names, event);
}

const char* ibv_wc_status_str(ibv_wc_status status) {
  static constexpr const char* names[] = {"success",
                                          "local length error",
                                          "local QP operation error",
                                          "local EE context operation error",
                                          "local protection error",
                                          "Work Request Flushed Error",
                                          "memory management operation error",
                                          "bad response error",
                                          "local access error",
                                          "remote invalid request error",
                                          "remote access error",
                                          "remote operation error",
                                          "transport retry counter exceeded",
                                          "RNR retry counter exceeded",
                                          "local RDD violation error",
                                          "remote invalid RD request",
                                          "aborted error",
                                          "invalid EE context number",
                                          "invalid EE context state",
                                          "fatal error",
                                          "response timeout error",
                                          "general error",
                                          "TM error",
                                          "TM software rendezvous"};
  return pick(names, status);
}

int ibv_rate_to_mult(ibv_rate rate) {
  for (const Rate& each : rates)
    if (each.rate == rate) return each.multiple;
  return -1;
}

ibv_rate mult_to_ibv_rate(int multiple) {
  for (const Rate& each : rates)
    if (each.multiple == multiple && multiple > 0) return each.rate;
  return IBV_RATE_MAX;
}

int ibv_rate_to_mbps(ibv_rate rate) {
  for (const Rate& each : rates)
    if (each.rate == rate) return each.mbps;
  return -1;
}

ibv_rate mbps_to_ibv_rate(int mbps) {
  for (const Rate& each : rates)
    if (each.mbps == mbps) return each.rate;
  return IBV_RATE_MAX;
}

// A fork needs no care: registered memory is never pinned.
int ibv_fork_init(void) { return 0; }
ibv_fork_status ibv_is_fork_initialized(void) { return IBV_FORK_UNNEEDED; }
int ibv_dontfork_range(void*, std::size_t) { return 0; }
int ibv_dofork_range(void*, std::size_t) { return 0; }

const char* ibv_get_sysfs_path(void) { return "/sys"; }

// Driver's part of making an address on Ethernet: the model's addresses are GIDs alone.
int ibv_resolve_eth_l2_from_gid(ibv_context*, ibv_ah_attr*, std::uint8_t mac[6], std::uint16_t* vlan) {
  for (int i = 0; i < 6; ++i) mac[i] = static_cast<std::uint8_t>(i == 0 ? 2 : 0);
  *vlan = 0xffff;
  return 0;
}

// There are no files of the virtual adapters.
int ibv_read_sysfs_file(const char*, const char*, char*, std::size_t) { return -1; }
int ibv_read_ibdev_sysfs_file(char*, std::size_t, ibv_device*, const char*, ...) { return -1; }

}  // extern "C"
