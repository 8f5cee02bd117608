#include "process/error_codes.h"

#include <iterator>

#include "mpi/failure.h"

namespace hawser {

namespace {

struct ClassText {
  int error_class;
  const char* text;
};
constexpr ClassText texts[] = {
#define HAWSER_ERROR_CLASS(name, number, text) {number, text},
#include "mpi/error_classes.def"
#undef HAWSER_ERROR_CLASS
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
  for (const ClassText& known : texts)
    if (known.error_class == error_class) return known.text;
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
      return failure(ErrorClass::other, "error class {} still has error code {}; remove that first",
                     error_class, code);
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
  auto text = text_of(code);
  if (!text) return text.take_error();
  error.code = code;
  error.text = std::move(text).value();
  return {};
}

Result<std::string> ErrorCodes::text_of(int code) const {
  if (const char* text = text_of_class(code)) return std::string(text);
  const auto found = added_.find(code);
  if (found == added_.end()) return failure(ErrorClass::arg, "{} is not an error code", code);
  return found->second.text;
}

}  // namespace hawser
