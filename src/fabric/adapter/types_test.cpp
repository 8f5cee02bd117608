// The numbers of adapter/types.h are those of the verbs header, and the records hold what its records hold.
#include "fabric/adapter/types.h"

#include <gtest/gtest.h>
#include <infiniband/verbs.h>

namespace hawser::fabric {
namespace {

template <class Ours, class Theirs>
constexpr bool same(Ours ours, Theirs theirs) {
  return static_cast<std::uint64_t>(ours) == static_cast<std::uint64_t>(theirs);
}

static_assert(same(QpType::xrc_send, IBV_QPT_XRC_SEND) && same(QpType::xrc_recv, IBV_QPT_XRC_RECV));
static_assert(same(QpType::rc, IBV_QPT_RC) && same(QpType::uc, IBV_QPT_UC) && same(QpType::ud, IBV_QPT_UD));
static_assert(same(QpState::reset, IBV_QPS_RESET) && same(QpState::init, IBV_QPS_INIT) &&
              same(QpState::rtr, IBV_QPS_RTR) && same(QpState::rts, IBV_QPS_RTS) &&
              same(QpState::sqd, IBV_QPS_SQD) && same(QpState::sqe, IBV_QPS_SQE) &&
              same(QpState::err, IBV_QPS_ERR));
static_assert(same(MigrationState::migrated, IBV_MIG_MIGRATED) &&
              same(MigrationState::rearm, IBV_MIG_REARM) && same(MigrationState::armed, IBV_MIG_ARMED));
static_assert(same(access_local_write, IBV_ACCESS_LOCAL_WRITE) &&
              same(access_remote_write, IBV_ACCESS_REMOTE_WRITE) &&
              same(access_remote_read, IBV_ACCESS_REMOTE_READ) &&
              same(access_remote_atomic, IBV_ACCESS_REMOTE_ATOMIC));
static_assert(same(Opcode::rdma_write, IBV_WR_RDMA_WRITE) &&
              same(Opcode::rdma_write_with_immediate, IBV_WR_RDMA_WRITE_WITH_IMM) &&
              same(Opcode::send, IBV_WR_SEND) && same(Opcode::send_with_immediate, IBV_WR_SEND_WITH_IMM) &&
              same(Opcode::rdma_read, IBV_WR_RDMA_READ) &&
              same(Opcode::compare_and_swap, IBV_WR_ATOMIC_CMP_AND_SWP) &&
              same(Opcode::fetch_and_add, IBV_WR_ATOMIC_FETCH_AND_ADD) &&
              same(Opcode::local_invalidate, IBV_WR_LOCAL_INV) && same(Opcode::bind_window, IBV_WR_BIND_MW) &&
              same(Opcode::send_with_invalidate, IBV_WR_SEND_WITH_INV));
static_assert(same(access_bind_window, IBV_ACCESS_MW_BIND) &&
              same(access_zero_based, IBV_ACCESS_ZERO_BASED) &&
              same(completion_with_invalidate, IBV_WC_WITH_INV) &&
              same(CompletionStatus::window_bind_error, IBV_WC_MW_BIND_ERR));
static_assert(same(send_fence, IBV_SEND_FENCE) && same(send_signaled, IBV_SEND_SIGNALED) &&
              same(send_solicited, IBV_SEND_SOLICITED) && same(send_inline, IBV_SEND_INLINE));
static_assert(same(CompletionStatus::success, IBV_WC_SUCCESS) &&
              same(CompletionStatus::local_length_error, IBV_WC_LOC_LEN_ERR) &&
              same(CompletionStatus::local_qp_operation_error, IBV_WC_LOC_QP_OP_ERR) &&
              same(CompletionStatus::local_protection_error, IBV_WC_LOC_PROT_ERR) &&
              same(CompletionStatus::flush_error, IBV_WC_WR_FLUSH_ERR) &&
              same(CompletionStatus::bad_response_error, IBV_WC_BAD_RESP_ERR) &&
              same(CompletionStatus::local_access_error, IBV_WC_LOC_ACCESS_ERR) &&
              same(CompletionStatus::remote_invalid_request_error, IBV_WC_REM_INV_REQ_ERR) &&
              same(CompletionStatus::remote_access_error, IBV_WC_REM_ACCESS_ERR) &&
              same(CompletionStatus::remote_operation_error, IBV_WC_REM_OP_ERR) &&
              same(CompletionStatus::retry_exceeded_error, IBV_WC_RETRY_EXC_ERR) &&
              same(CompletionStatus::receiver_not_ready_retry_exceeded_error, IBV_WC_RNR_RETRY_EXC_ERR) &&
              same(CompletionStatus::fatal_error, IBV_WC_FATAL_ERR) &&
              same(CompletionStatus::general_error, IBV_WC_GENERAL_ERR));
static_assert(same(CompletionOpcode::send, IBV_WC_SEND) &&
              same(CompletionOpcode::rdma_write, IBV_WC_RDMA_WRITE) &&
              same(CompletionOpcode::rdma_read, IBV_WC_RDMA_READ) &&
              same(CompletionOpcode::compare_and_swap, IBV_WC_COMP_SWAP) &&
              same(CompletionOpcode::fetch_and_add, IBV_WC_FETCH_ADD) &&
              same(CompletionOpcode::bind_window, IBV_WC_BIND_MW) &&
              same(CompletionOpcode::local_invalidate, IBV_WC_LOCAL_INV) &&
              same(CompletionOpcode::receive, IBV_WC_RECV) &&
              same(CompletionOpcode::receive_rdma_with_immediate, IBV_WC_RECV_RDMA_WITH_IMM));
static_assert(same(completion_grh, IBV_WC_GRH) && same(completion_with_immediate, IBV_WC_WITH_IMM));
static_assert(same(AsyncEventType::cq_error, IBV_EVENT_CQ_ERR) &&
              same(AsyncEventType::qp_fatal, IBV_EVENT_QP_FATAL) &&
              same(AsyncEventType::qp_access_error, IBV_EVENT_QP_ACCESS_ERR) &&
              same(AsyncEventType::path_migrated, IBV_EVENT_PATH_MIG) &&
              same(AsyncEventType::device_fatal, IBV_EVENT_DEVICE_FATAL) &&
              same(AsyncEventType::port_active, IBV_EVENT_PORT_ACTIVE) &&
              same(AsyncEventType::srq_limit_reached, IBV_EVENT_SRQ_LIMIT_REACHED) &&
              same(AsyncEventType::last_wqe_reached, IBV_EVENT_QP_LAST_WQE_REACHED) &&
              same(AsyncEventType::client_reregister, IBV_EVENT_CLIENT_REREGISTER) &&
              same(AsyncEventType::gid_change, IBV_EVENT_GID_CHANGE));
static_assert(same(mask_state, IBV_QP_STATE) && same(mask_path, IBV_QP_AV) &&
              same(mask_timeout, IBV_QP_TIMEOUT) && same(mask_alternate_path, IBV_QP_ALT_PATH) &&
              same(mask_migration_state, IBV_QP_PATH_MIG_STATE) && same(mask_capabilities, IBV_QP_CAP) &&
              same(mask_destination_qp, IBV_QP_DEST_QPN) &&
              same(mask_max_rd_atomic, IBV_QP_MAX_QP_RD_ATOMIC) && same(mask_sq_psn, IBV_QP_SQ_PSN) &&
              same(mask_max_dest_rd_atomic, IBV_QP_MAX_DEST_RD_ATOMIC));

TEST(Types, EveryNameIsKnown) {
  for (int i = 0; i <= 6; ++i) EXPECT_STRNE(name_of(static_cast<QpState>(i)), "?");
  for (int i = 0; i <= 18; ++i) EXPECT_STRNE(name_of(static_cast<AsyncEventType>(i)), "?");
  EXPECT_STREQ(name_of(CompletionStatus::retry_exceeded_error), "RETRY_EXC_ERR");
}

}  // namespace
}  // namespace hawser::fabric
