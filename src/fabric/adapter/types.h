// The vocabulary of the InfiniBand verbs, as the model uses it. The numbers are those of <infiniband/verbs.h>
// (types_test.cpp compares them), so that the verbs room converts by a cast; the header itself is not used,
// because the model also runs where no libibverbs is installed.
#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstdint>

#include "fabric/topology/routing.h"

namespace hawser::fabric {

enum class QpType : std::uint32_t {
  rc = 2,
  uc = 3,
  ud = 4,
  xrc_send = 9,   // like RC, but every request names the shared receive queue it is for
  xrc_recv = 10,  // its other end: has no queues of its own
};

// Every packet is acknowledged, what is lost is sent again.
inline bool is_reliable(QpType type) {
  return type == QpType::rc || type == QpType::xrc_send || type == QpType::xrc_recv;
}

enum class QpState : std::uint32_t {
  reset = 0,  // as created; nothing may be posted to the send queue, receives are refused
  init = 1,   // receives may be posted, nothing moves
  rtr = 2,    // ready to receive: incoming messages are answered
  rts = 3,    // ready to send: fully working
  sqd = 4,    // send queue drained: what had begun is finished, nothing new begins
  sqe = 5,    // send queue error (UC, UD): receiving goes on, sends are flushed
  err = 6,    // everything is flushed
};

enum class MigrationState : std::uint32_t {
  migrated = 0,  // on the primary path; no alternate path is ready
  rearm = 1,     // an alternate path is loaded; waiting for the other end to be ready as well
  armed = 2,     // both ends are ready to migrate
};

enum AccessFlags : std::uint32_t {
  access_local_write = 1,
  access_remote_write = 2,
  access_remote_read = 4,
  access_remote_atomic = 8,
  access_bind_window = 16,
  access_zero_based = 32,  // a window's: its first byte has address 0
};

enum class Opcode : std::uint32_t {
  rdma_write = 0,
  rdma_write_with_immediate = 1,
  send = 2,
  send_with_immediate = 3,
  rdma_read = 4,
  compare_and_swap = 5,
  fetch_and_add = 6,
  local_invalidate = 7,  // of a type 2 window
  bind_window = 8,
  send_with_invalidate = 9,
};

// Carried out by the adapter that it is posted to: nothing crosses the network.
inline bool is_local(Opcode opcode) {
  return opcode == Opcode::local_invalidate || opcode == Opcode::bind_window;
}

enum SendFlags : std::uint32_t {
  send_fence = 1,
  send_signaled = 2,
  send_solicited = 4,
  send_inline = 8,
};

enum class CompletionStatus : std::uint32_t {
  success = 0,
  local_length_error = 1,
  local_qp_operation_error = 2,
  local_protection_error = 4,
  flush_error = 5,
  window_bind_error = 6,
  bad_response_error = 7,
  local_access_error = 8,
  remote_invalid_request_error = 9,
  remote_access_error = 10,
  remote_operation_error = 11,
  retry_exceeded_error = 12,
  receiver_not_ready_retry_exceeded_error = 13,
  fatal_error = 19,
  general_error = 21,
};

enum class CompletionOpcode : std::uint32_t {
  send = 0,
  rdma_write = 1,
  rdma_read = 2,
  compare_and_swap = 3,
  fetch_and_add = 4,
  bind_window = 5,
  local_invalidate = 6,
  receive = 128,
  receive_rdma_with_immediate = 129,
};

enum CompletionFlags : std::uint32_t {
  completion_grh = 1,
  completion_with_immediate = 2,
  completion_with_invalidate = 8,
};

enum class AsyncEventType : std::uint32_t {
  cq_error = 0,
  qp_fatal = 1,
  qp_request_error = 2,
  qp_access_error = 3,
  communication_established = 4,
  sq_drained = 5,
  path_migrated = 6,
  path_migration_error = 7,
  device_fatal = 8,
  port_active = 9,
  port_error = 10,
  lid_change = 11,
  pkey_change = 12,
  sm_change = 13,
  srq_error = 14,
  srq_limit_reached = 15,
  last_wqe_reached = 16,
  client_reregister = 17,
  gid_change = 18,
};

// Which attributes ibv_modify_qp is to change.
enum AttributeMask : std::uint32_t {
  mask_state = 1u << 0,
  mask_current_state = 1u << 1,
  mask_sqd_notify = 1u << 2,
  mask_access_flags = 1u << 3,
  mask_pkey_index = 1u << 4,
  mask_port = 1u << 5,
  mask_qkey = 1u << 6,
  mask_path = 1u << 7,
  mask_path_mtu = 1u << 8,
  mask_timeout = 1u << 9,
  mask_retry_count = 1u << 10,
  mask_rnr_retry = 1u << 11,
  mask_rq_psn = 1u << 12,
  mask_max_rd_atomic = 1u << 13,
  mask_alternate_path = 1u << 14,
  mask_min_rnr_timer = 1u << 15,
  mask_sq_psn = 1u << 16,
  mask_max_dest_rd_atomic = 1u << 17,
  mask_migration_state = 1u << 18,
  mask_capabilities = 1u << 19,
  mask_destination_qp = 1u << 20,
};

using Gid = std::array<std::uint8_t, 16>;
enum class GidType : std::uint8_t { infiniband, roce_v1, roce_v2 };

// Of a port's table.
struct GidEntry {
  Gid gid{};  // all zero: an empty entry
  GidType type = GidType::infiniband;
  bool empty() const { return gid == Gid{}; }
  // IPv4 addresses stand behind ::ffff:0:0/96. The ends of a way are of one family.
  bool is_ipv4() const {
    constexpr std::array<std::uint8_t, 12> prefix = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    return std::equal(prefix.begin(), prefix.end(), gid.begin());
  }
  auto operator<=>(const GidEntry&) const = default;
};

// Where packets go: what ibv_ah_attr holds.
struct AddressVector {
  Gid destination_gid{};
  std::uint32_t flow_label = 0;
  std::uint8_t source_gid_index = 0;
  std::uint8_t hop_limit = 0;
  std::uint8_t traffic_class = 0;
  bool is_global = false;
  Lid destination_lid = 0;
  std::uint8_t service_level = 0;
  std::uint8_t source_path_bits = 0;
  std::uint8_t static_rate = 0;
  std::uint8_t port = 1;
};

// What ibv_qp_attr holds. Unit of path_mtu: bytes.
struct QpAttributes {
  QpState state = QpState::reset;
  QpState current_state = QpState::reset;
  std::uint32_t path_mtu = 0;
  MigrationState migration_state = MigrationState::migrated;
  std::uint32_t qkey = 0;
  std::uint32_t rq_psn = 0;
  std::uint32_t sq_psn = 0;
  std::uint32_t destination_qp = 0;
  std::uint32_t access_flags = 0;
  AddressVector path;
  AddressVector alternate_path;
  std::uint16_t pkey_index = 0;
  std::uint16_t alternate_pkey_index = 0;
  bool sqd_notify = false;
  std::uint8_t max_rd_atomic = 0;
  std::uint8_t max_dest_rd_atomic = 0;
  std::uint8_t min_rnr_timer = 0;
  std::uint8_t port = 0;
  std::uint8_t timeout = 0;  // 4.096 us * 2^timeout; 0 = for ever
  std::uint8_t retry_count = 0;
  std::uint8_t rnr_retry = 0;  // 7 = for ever
  std::uint8_t alternate_port = 0;
  std::uint8_t alternate_timeout = 0;
};

struct QpCapabilities {
  std::uint32_t max_send_wr = 0;
  std::uint32_t max_recv_wr = 0;
  std::uint32_t max_send_sge = 0;
  std::uint32_t max_recv_sge = 0;
  std::uint32_t max_inline_data = 0;
};

// An element of a scatter/gather list.
struct Segment {
  std::uint64_t address = 0;
  std::uint32_t length = 0;
  std::uint32_t lkey = 0;
};

// What ibv_send_wr holds. The pointers are read during the call only.
struct SendRequest {
  std::uint64_t id = 0;
  const Segment* segments = nullptr;
  std::uint32_t segment_count = 0;
  const void* inline_data = nullptr;  // with send_inline: the bytes, instead of segments
  std::uint32_t inline_length = 0;
  Opcode opcode = Opcode::send;
  std::uint32_t flags = 0;
  std::uint32_t immediate = 0;  // as the program gave it (network order); carried unchanged
  std::uint64_t remote_address = 0;
  std::uint32_t rkey = 0;
  std::uint64_t compare_add = 0;
  std::uint64_t swap = 0;
  const AddressVector* path = nullptr;  // UD
  std::uint32_t remote_qp = 0;          // UD
  std::uint32_t remote_qkey = 0;        // UD
  std::uint32_t remote_srq = 0;         // XRC: number of the shared receive queue
  std::uint32_t invalidate_key = 0;     // of the window: here, or at the receiver of the message
  // Binding: the window's new key is `rkey`, its first byte `remote_address`.
  std::uint32_t window_key = 0, region_key = 0;
  std::uint64_t window_length = 0;  // 0: it becomes unbound
  std::uint32_t window_access = 0;
};

struct ReceiveRequest {
  std::uint64_t id = 0;
  const Segment* segments = nullptr;
  std::uint32_t segment_count = 0;
};

// What ibv_wc holds, and whether the sender solicited an event.
struct Completion {
  std::uint64_t id = 0;
  CompletionStatus status = CompletionStatus::success;
  CompletionOpcode opcode = CompletionOpcode::send;
  std::uint32_t vendor_error = 0;
  std::uint32_t byte_length = 0;
  std::uint32_t immediate = 0;  // or the key that the message has invalidated
  std::uint32_t qp_number = 0;
  std::uint32_t source_qp = 0;
  std::uint32_t flags = 0;  // CompletionFlags
  std::uint16_t pkey_index = 0;
  Lid source_lid = 0;
  std::uint8_t service_level = 0;
  std::uint8_t destination_path_bits = 0;
  bool solicited = false;
  std::int64_t time = 0;  // when it was delivered, in nanoseconds of the fabric; set by who stores it
};

const char* name_of(QpState state);
const char* name_of(CompletionStatus status);
const char* name_of(AsyncEventType type);

}  // namespace hawser::fabric
