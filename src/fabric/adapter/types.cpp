#include "fabric/adapter/types.h"

namespace hawser::fabric {

const char* name_of(QpState state) {
  switch (state) {
    case QpState::reset:
      return "RESET";
    case QpState::init:
      return "INIT";
    case QpState::rtr:
      return "RTR";
    case QpState::rts:
      return "RTS";
    case QpState::sqd:
      return "SQD";
    case QpState::sqe:
      return "SQE";
    case QpState::err:
      return "ERR";
  }
  return "?";
}

const char* name_of(CompletionStatus status) {
  switch (status) {
    case CompletionStatus::success:
      return "SUCCESS";
    case CompletionStatus::local_length_error:
      return "LOC_LEN_ERR";
    case CompletionStatus::local_qp_operation_error:
      return "LOC_QP_OP_ERR";
    case CompletionStatus::local_protection_error:
      return "LOC_PROT_ERR";
    case CompletionStatus::flush_error:
      return "WR_FLUSH_ERR";
    case CompletionStatus::window_bind_error:
      return "MW_BIND_ERR";
    case CompletionStatus::bad_response_error:
      return "BAD_RESP_ERR";
    case CompletionStatus::local_access_error:
      return "LOC_ACCESS_ERR";
    case CompletionStatus::remote_invalid_request_error:
      return "REM_INV_REQ_ERR";
    case CompletionStatus::remote_access_error:
      return "REM_ACCESS_ERR";
    case CompletionStatus::remote_operation_error:
      return "REM_OP_ERR";
    case CompletionStatus::retry_exceeded_error:
      return "RETRY_EXC_ERR";
    case CompletionStatus::receiver_not_ready_retry_exceeded_error:
      return "RNR_RETRY_EXC_ERR";
    case CompletionStatus::fatal_error:
      return "FATAL_ERR";
    case CompletionStatus::general_error:
      return "GENERAL_ERR";
  }
  return "?";
}

const char* name_of(AsyncEventType type) {
  switch (type) {
    case AsyncEventType::cq_error:
      return "CQ_ERR";
    case AsyncEventType::qp_fatal:
      return "QP_FATAL";
    case AsyncEventType::qp_request_error:
      return "QP_REQ_ERR";
    case AsyncEventType::qp_access_error:
      return "QP_ACCESS_ERR";
    case AsyncEventType::communication_established:
      return "COMM_EST";
    case AsyncEventType::sq_drained:
      return "SQ_DRAINED";
    case AsyncEventType::path_migrated:
      return "PATH_MIG";
    case AsyncEventType::path_migration_error:
      return "PATH_MIG_ERR";
    case AsyncEventType::device_fatal:
      return "DEVICE_FATAL";
    case AsyncEventType::port_active:
      return "PORT_ACTIVE";
    case AsyncEventType::port_error:
      return "PORT_ERR";
    case AsyncEventType::lid_change:
      return "LID_CHANGE";
    case AsyncEventType::pkey_change:
      return "PKEY_CHANGE";
    case AsyncEventType::sm_change:
      return "SM_CHANGE";
    case AsyncEventType::srq_error:
      return "SRQ_ERR";
    case AsyncEventType::srq_limit_reached:
      return "SRQ_LIMIT_REACHED";
    case AsyncEventType::last_wqe_reached:
      return "QP_LAST_WQE_REACHED";
    case AsyncEventType::client_reregister:
      return "CLIENT_REREGISTER";
    case AsyncEventType::gid_change:
      return "GID_CHANGE";
  }
  return "?";
}

}  // namespace hawser::fabric
