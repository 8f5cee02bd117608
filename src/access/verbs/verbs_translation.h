// Between rdma.h's words and libibverbs': pure functions.
#pragma once

#include <infiniband/verbs.h>

#include <string>
#include <string_view>

#include "access/rdma.h"

namespace hawser::rdma {

// "ibv_modify_qp to RTR on hw0: Invalid argument (EINVAL)".
Error refused(std::string_view call, std::string_view device, int error);

// The same of a call that registers memory: with the system's limit, if that may be the reason.
Error refused_memory(std::string_view call, std::string_view device, int error);

// The smallest code whose time, 4.096 us << code, is not below `time`; at most 31, at least 1 (0 would be for
// ever).
std::uint8_t timeout_code(Nanoseconds time);

// Bytes per second of data: width times lanes' speed without the line's encoding; 0 when unknown.
std::int64_t nominal_rate(std::uint8_t active_width, std::uint8_t active_speed);

Status translate_status(ibv_wc_status status);
void translate(const ibv_wc& from, Completion& to);

// The element must still be valid: translate, then acknowledge.
DeviceEvent translate(const ibv_async_event& event);

// How to reach a port from `own` (this end's port, with the index of its GID). Across subnets and on RoCE
// with a global route.
ibv_ah_attr address_vector(const PortAttributes& own, const Route& route);

// How to reach a multicast group from a port.
ibv_ah_attr group_vector(const PortAttributes& own, std::uint8_t port, const MulticastGroup& group);

ibv_mtu path_mtu(const PortAddress& own, const Route& route);

// Of what kind (rdma.h) a GID of a port on Ethernet is; -1: of none, the entry is empty.
int gid_kind(const Gid& gid, bool version_2);

// 2^n is not more than this many bytes.
std::uint8_t message_code(std::uint32_t max_msg_sz);

}  // namespace hawser::rdma
