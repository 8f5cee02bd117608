#include "process/error_codes.h"

#include <iterator>

#include "base/failure.h"

namespace hawser {

namespace {

constexpr const char* texts[] = {
    "MPI_SUCCESS: no error",
    "MPI_ERR_BUFFER: invalid buffer",
    "MPI_ERR_COUNT: invalid count",
    "MPI_ERR_TYPE: invalid datatype",
    "MPI_ERR_TAG: invalid tag",
    "MPI_ERR_COMM: invalid communicator",
    "MPI_ERR_RANK: invalid rank",
    "MPI_ERR_REQUEST: invalid request",
    "MPI_ERR_ROOT: invalid root",
    "MPI_ERR_GROUP: invalid group",
    "MPI_ERR_OP: invalid reduction operation",
    "MPI_ERR_TOPOLOGY: invalid communicator topology",
    "MPI_ERR_DIMS: invalid dimensions",
    "MPI_ERR_ARG: invalid argument",
    "MPI_ERR_UNKNOWN: unknown error",
    "MPI_ERR_TRUNCATE: message truncated on receive",
    "MPI_ERR_OTHER: known error not in this list",
    "MPI_ERR_INTERN: internal error of the MPI library",
    "MPI_ERR_PENDING: the operation is not complete",
    "MPI_ERR_IN_STATUS: the error code is in the status",
    "MPI_ERR_ACCESS: permission denied",
    "MPI_ERR_AMODE: invalid file access mode",
    "MPI_ERR_ASSERT: invalid assertion",
    "MPI_ERR_BAD_FILE: invalid file name",
    "MPI_ERR_BASE: invalid base address",
    "MPI_ERR_CONVERSION: error in a data conversion function",
    "MPI_ERR_DISP: invalid displacement",
    "MPI_ERR_DUP_DATAREP: the data representation is defined already",
    "MPI_ERR_FILE_EXISTS: the file exists",
    "MPI_ERR_FILE_IN_USE: the file is in use",
    "MPI_ERR_FILE: invalid file",
    "MPI_ERR_INFO_KEY: invalid info key",
    "MPI_ERR_INFO_NOKEY: no such info key",
    "MPI_ERR_INFO_VALUE: invalid info value",
    "MPI_ERR_INFO: invalid info object",
    "MPI_ERR_IO: input or output error",
    "MPI_ERR_KEYVAL: invalid keyval",
    "MPI_ERR_LOCKTYPE: invalid lock type",
    "MPI_ERR_NAME: no such service name",
    "MPI_ERR_NO_MEM: out of memory",
    "MPI_ERR_NOT_SAME: arguments differ between processes",
    "MPI_ERR_NO_SPACE: not enough space in the file system",
    "MPI_ERR_NO_SUCH_FILE: no such file",
    "MPI_ERR_PORT: invalid port name",
    "MPI_ERR_QUOTA: quota exceeded",
    "MPI_ERR_READ_ONLY: read-only file or file system",
    "MPI_ERR_RMA_ATTACH: memory cannot be attached",
    "MPI_ERR_RMA_CONFLICT: conflicting accesses to a window",
    "MPI_ERR_RMA_RANGE: target memory is not part of the window",
    "MPI_ERR_RMA_SHARED: memory cannot be shared",
    "MPI_ERR_RMA_SYNC: wrong synchronization of window accesses",
    "MPI_ERR_SERVICE: service name cannot be published or removed",
    "MPI_ERR_SIZE: invalid size",
    "MPI_ERR_SPAWN: processes cannot be spawned",
    "MPI_ERR_UNSUPPORTED_DATAREP: unsupported data representation",
    "MPI_ERR_UNSUPPORTED_OPERATION: unsupported operation",
    "MPI_ERR_WIN: invalid window",
    "MPI_ERR_RMA_FLAVOR: wrong flavor of window",
    "MPI_ERR_PROC_ABORTED: a peer process has aborted",
    "MPI_ERR_VALUE_TOO_LARGE: a value is too large for its type",
    "MPI_ERR_SESSION: invalid session",
    "MPI_ERR_ERRHANDLER: invalid error handler",
    "MPI_ERR_ABI: error of the application binary interface",
};

// The tool interface's, from the first one on.
constexpr int first_tool_code = 1001;
constexpr const char* tool_texts[] = {
    "MPI_T_ERR_CANNOT_INIT: the tool interface cannot be initialized now",
    "MPI_T_ERR_NOT_ACCESSIBLE: the requested functionality is not accessible",
    "MPI_T_ERR_NOT_INITIALIZED: the tool interface is not initialized",
    "MPI_T_ERR_NOT_SUPPORTED: the requested functionality is not supported",
    "MPI_T_ERR_MEMORY: out of memory",
    "MPI_T_ERR_INVALID: invalid use of the tool interface, or a bad parameter value",
    "MPI_T_ERR_INVALID_INDEX: invalid index",
    "MPI_T_ERR_INVALID_ITEM: the item's index is out of range",
    "MPI_T_ERR_INVALID_SESSION: invalid session of performance variables",
    "MPI_T_ERR_INVALID_HANDLE: invalid handle",
    "MPI_T_ERR_INVALID_NAME: no variable or category has this name",
    "MPI_T_ERR_OUT_OF_HANDLES: no more handles are available",
    "MPI_T_ERR_OUT_OF_SESSIONS: no more sessions are available",
    "MPI_T_ERR_CVAR_SET_NOT_NOW: the control variable cannot be set now",
    "MPI_T_ERR_CVAR_SET_NEVER: the control variable cannot be set until the end of the program",
    "MPI_T_ERR_PVAR_NO_WRITE: the performance variable cannot be written or reset",
    "MPI_T_ERR_PVAR_NO_STARTSTOP: the performance variable cannot be started or stopped",
    "MPI_T_ERR_PVAR_NO_ATOMIC: the performance variable cannot be read and written atomically",
};

Error not_added(int code) {
  return failure(ErrorClass::arg, "{} is not an error code or class that the program added", code);
}

}  // namespace

const char* text_of_class(int error_class) {
  if (error_class >= 0 && error_class < static_cast<int>(std::size(texts))) return texts[error_class];
  const int tool = error_class - first_tool_code;
  return tool >= 0 && tool < static_cast<int>(std::size(tool_texts)) ? tool_texts[tool] : nullptr;
}

int ErrorCodes::add_class() {
  const int added = ++last_used_;
  added_.emplace(added, Added{added, {}});
  return added;
}

Result<int> ErrorCodes::add_code(int error_class) {
  const auto known = class_of(error_class);
  if (!known || known.value() != error_class)
    return failure(ErrorClass::arg, "{} is not an error class", error_class);
  const int added = ++last_used_;
  added_.emplace(added, Added{error_class, {}});
  return added;
}

Result<> ErrorCodes::set_text(int code, std::string_view text) {
  const auto found = added_.find(code);
  if (found == added_.end()) return not_added(code);
  found->second.text = text;
  return {};
}

Result<> ErrorCodes::remove_class(int error_class) {
  const auto found = added_.find(error_class);
  if (found == added_.end() || found->second.error_class != error_class) return not_added(error_class);
  for (const auto& [code, added] : added_) {
    if (added.error_class == error_class && code != error_class)
      return failure(ErrorClass::other, "error class {} still has code {}", error_class, code);
  }
  added_.erase(found);
  last_used_ = added_.empty() ? last_predefined : added_.rbegin()->first;
  return {};
}

Result<> ErrorCodes::remove_code(int code) {
  const auto found = added_.find(code);
  if (found == added_.end() || found->second.error_class == code) return not_added(code);
  if (!found->second.text.empty())
    return failure(ErrorClass::other,
                   "error code {} still has its string; call MPI_Remove_error_string first", code);
  added_.erase(found);
  last_used_ = added_.empty() ? last_predefined : added_.rbegin()->first;
  return {};
}

Result<> ErrorCodes::remove_text(int code) {
  const auto found = added_.find(code);
  if (found != added_.end() && found->second.text.empty())
    return failure(ErrorClass::arg, "error code {} has no string", code);
  return set_text(code, {});
}

Result<int> ErrorCodes::class_of(int code) const {
  if (text_of_class(code) != nullptr) return code;
  const auto found = added_.find(code);
  if (found == added_.end()) return failure(ErrorClass::arg, "{} is not an error code", code);
  return found->second.error_class;
}

Result<> ErrorCodes::describe(int code, Error& error) const {
  auto error_class = class_of(code);
  if (!error_class) return error_class.take_error();
  error.error_class = static_cast<ErrorClass>(error_class.value());
  error.code = code;
  error.text = text_of(code).value();
  return {};
}

Result<std::string> ErrorCodes::text_of(int code) const {
  if (const char* text = text_of_class(code)) return std::string(text);
  const auto found = added_.find(code);
  if (found == added_.end()) return failure(ErrorClass::arg, "{} is not an error code", code);
  return found->second.text;
}

}  // namespace hawser
