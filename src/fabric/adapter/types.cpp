#include "fabric/adapter/types.h"

#include "base/enum_names.h"

namespace hawser::fabric {

const char* name_of(QpState state) {
  static constexpr EnumTexts<QpState> texts{{{QpState::reset, "RESET"},
                                             {QpState::init, "INIT"},
                                             {QpState::rtr, "RTR"},
                                             {QpState::rts, "RTS"},
                                             {QpState::sqd, "SQD"},
                                             {QpState::sqe, "SQE"},
                                             {QpState::err, "ERR"}}};
  return texts(state);
}

const char* name_of(CompletionStatus status) {
  static constexpr EnumTexts<CompletionStatus> texts{
      {{CompletionStatus::success, "SUCCESS"},
       {CompletionStatus::local_length_error, "LOC_LEN_ERR"},
       {CompletionStatus::local_qp_operation_error, "LOC_QP_OP_ERR"},
       {CompletionStatus::local_protection_error, "LOC_PROT_ERR"},
       {CompletionStatus::flush_error, "WR_FLUSH_ERR"},
       {CompletionStatus::window_bind_error, "MW_BIND_ERR"},
       {CompletionStatus::bad_response_error, "BAD_RESP_ERR"},
       {CompletionStatus::local_access_error, "LOC_ACCESS_ERR"},
       {CompletionStatus::remote_invalid_request_error, "REM_INV_REQ_ERR"},
       {CompletionStatus::remote_access_error, "REM_ACCESS_ERR"},
       {CompletionStatus::remote_operation_error, "REM_OP_ERR"},
       {CompletionStatus::retry_exceeded_error, "RETRY_EXC_ERR"},
       {CompletionStatus::receiver_not_ready_retry_exceeded_error, "RNR_RETRY_EXC_ERR"},
       {CompletionStatus::fatal_error, "FATAL_ERR"},
       {CompletionStatus::general_error, "GENERAL_ERR"}}};
  return texts(status);
}

const char* name_of(AsyncEventType type) {
  static constexpr EnumTexts<AsyncEventType> texts{{{AsyncEventType::cq_error, "CQ_ERR"},
                                                    {AsyncEventType::qp_fatal, "QP_FATAL"},
                                                    {AsyncEventType::qp_request_error, "QP_REQ_ERR"},
                                                    {AsyncEventType::qp_access_error, "QP_ACCESS_ERR"},
                                                    {AsyncEventType::communication_established, "COMM_EST"},
                                                    {AsyncEventType::sq_drained, "SQ_DRAINED"},
                                                    {AsyncEventType::path_migrated, "PATH_MIG"},
                                                    {AsyncEventType::path_migration_error, "PATH_MIG_ERR"},
                                                    {AsyncEventType::device_fatal, "DEVICE_FATAL"},
                                                    {AsyncEventType::port_active, "PORT_ACTIVE"},
                                                    {AsyncEventType::port_error, "PORT_ERR"},
                                                    {AsyncEventType::lid_change, "LID_CHANGE"},
                                                    {AsyncEventType::pkey_change, "PKEY_CHANGE"},
                                                    {AsyncEventType::sm_change, "SM_CHANGE"},
                                                    {AsyncEventType::srq_error, "SRQ_ERR"},
                                                    {AsyncEventType::srq_limit_reached, "SRQ_LIMIT_REACHED"},
                                                    {AsyncEventType::last_wqe_reached, "QP_LAST_WQE_REACHED"},
                                                    {AsyncEventType::client_reregister, "CLIENT_REREGISTER"},
                                                    {AsyncEventType::gid_change, "GID_CHANGE"}}};
  return texts(type);
}

}  // namespace hawser::fabric
