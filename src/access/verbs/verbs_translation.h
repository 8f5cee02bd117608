// Between rdma.h's words and libibverbs': pure functions.
#pragma once

#include <infiniband/verbs.h>

#include <string>
#include <string_view>

#include "access/rdma.h"

namespace hawser::rdma {

// "ibv_modify_qp to RTR on hw0: Invalid argument (EINVAL)".
Error refused(std::string_view call, std::string_view device, int error);

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
ibv_ah_attr address_vector(const PortFacts& own, const Route& route);

ibv_mtu path_mtu(const PortAddress& own, const PortAddress& other);

// How well a GID suits as this port's own on RoCE, 0 is useless: routable ones of version 2 (UDP) before
// link-local ones before version 1.
int gid_merit(const std::array<std::uint8_t, 16>& gid, bool version_2);

}  // namespace hawser::rdma
