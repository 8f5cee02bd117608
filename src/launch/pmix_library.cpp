#include "launch/pmix_library.h"

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>

#include "base/failure.h"
#include "launch/find_symbol.h"

namespace hawser {

namespace {

std::optional<std::int64_t> as_number(const pmix_value_t& value) {
  switch (value.type) {
    case PMIX_BOOL:
      return value.data.flag ? 1 : 0;
    case PMIX_BYTE:
      return value.data.byte;
    case PMIX_SIZE:
      return static_cast<std::int64_t>(value.data.size);
    case PMIX_PID:
      return value.data.pid;
    case PMIX_INT:
      return value.data.integer;
    case PMIX_INT8:
      return value.data.int8;
    case PMIX_INT16:
      return value.data.int16;
    case PMIX_INT32:
      return value.data.int32;
    case PMIX_INT64:
      return value.data.int64;
    case PMIX_UINT:
      return value.data.uint;
    case PMIX_UINT8:
      return value.data.uint8;
    case PMIX_UINT16:
      return value.data.uint16;
    case PMIX_UINT32:
      return value.data.uint32;
    case PMIX_UINT64:
      return static_cast<std::int64_t>(value.data.uint64);
    case PMIX_PROC_RANK:
      return value.data.rank;
    default:
      return std::nullopt;  // pmix_data_type_t is an integer, so there is no list to exhaust
  }
}

}  // namespace

Result<std::unique_ptr<PmixLibrary>> PmixLibrary::load() {
  // The symbols are made global because the library loads plug-ins that take them from there. It is never
  // unloaded: it leaves threads and exit handlers behind.
  void* handle = dlopen("libpmix.so.2", RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE);
  if (handle == nullptr) return failure(ErrorKind::other, "cannot load libpmix.so.2: {}", dlerror());
  std::unique_ptr<PmixLibrary> library(new PmixLibrary);
  if (!find_symbol(handle, "PMIx_Init", library->init_) ||
      !find_symbol(handle, "PMIx_Finalize", library->finalize_) ||
      !find_symbol(handle, "PMIx_Get", library->get_) || !find_symbol(handle, "PMIx_Put", library->put_) ||
      !find_symbol(handle, "PMIx_Commit", library->commit_) ||
      !find_symbol(handle, "PMIx_Fence", library->fence_) ||
      !find_symbol(handle, "PMIx_Abort", library->abort_) ||
      !find_symbol(handle, "PMIx_Error_string", library->error_string_))
    return failure(ErrorKind::other, "libpmix.so.2 lacks a function: {}", dlerror());
  return library;
}

void PmixLibrary::ValueDeleter::operator()(pmix_value_t* value) const {
  // The library's own destructor is a macro of the header in some versions and a function in others; these
  // are all the kinds of values that are asked for here.
  if (value->type == PMIX_STRING) std::free(value->data.string);
  if (value->type == PMIX_BYTE_OBJECT) std::free(value->data.bo.bytes);
  std::free(value);
}

std::string PmixLibrary::describe(pmix_status_t status) const {
  return fmt::format("{} ({})", error_string_(status), status);
}

Result<> PmixLibrary::check(const char* function, pmix_status_t status) const {
  if (status == PMIX_SUCCESS) return {};
  return failure(ErrorKind::other, "{}: {}", function, describe(status));
}

pmix_status_t PmixLibrary::initialize() { return init_(&self_, nullptr, 0); }

Result<> PmixLibrary::finalize() { return check("PMIx_Finalize", finalize_(nullptr, 0)); }

namespace {

pmix_info_t make_flag(const char* key, bool value) {
  pmix_info_t info{};
  std::strncpy(info.key, key, PMIX_MAX_KEYLEN);
  info.value.type = PMIX_BOOL;
  info.value.data.flag = value;
  return info;
}

}  // namespace

// Everything that is asked for is known to the local server, or nowhere: values travel with the fence.
// Without saying so a server would ask others for what is missing, and some never answer.
pmix_status_t PmixLibrary::get(std::uint32_t rank, const char* key, Value& value) {
  pmix_proc_t process = self_;
  process.rank = rank;
  pmix_value_t* raw = nullptr;
  const pmix_info_t immediate = make_flag(PMIX_IMMEDIATE, true);
  const pmix_status_t status = get_(&process, key, &immediate, 1, &raw);
  if (raw != nullptr) value.reset(raw);
  if (status == PMIX_SUCCESS && value == nullptr) return PMIX_ERR_NOT_FOUND;
  return status;
}

std::optional<std::int64_t> PmixLibrary::get_number(std::uint32_t rank, const char* key) {
  Value value;
  if (get(rank, key, value) != PMIX_SUCCESS) return std::nullopt;
  return as_number(*value);
}

std::optional<std::string> PmixLibrary::get_text(std::uint32_t rank, const char* key) {
  Value value;
  if (get(rank, key, value) != PMIX_SUCCESS) return std::nullopt;
  if (value->type != PMIX_STRING || value->data.string == nullptr) return std::nullopt;
  return std::string(value->data.string);
}

Result<std::string> PmixLibrary::get_bytes(std::uint32_t rank, const std::string& key) {
  Value value;
  HAWSER_TRY(check("PMIx_Get", get(rank, key.c_str(), value)));
  if (value->type != PMIX_BYTE_OBJECT)
    return failure(ErrorKind::other, "PMIx_Get: the value of '{}' came back as type {}", key, value->type);
  return std::string(value->data.bo.bytes, value->data.bo.size);
}

Result<> PmixLibrary::put_bytes(const std::string& key, std::string_view value) {
  pmix_value_t object{};
  object.type = PMIX_BYTE_OBJECT;
  std::string copy(value);  // the interface wants it writable
  object.data.bo.bytes = copy.data();
  object.data.bo.size = copy.size();
  return check("PMIx_Put", put_(PMIX_GLOBAL, key.c_str(), &object));
}

Result<> PmixLibrary::commit() { return check("PMIx_Commit", commit_()); }

Result<> PmixLibrary::fence(bool collect_data) {
  const pmix_info_t info = make_flag(PMIX_COLLECT_DATA, collect_data);
  pmix_proc_t everyone = self_;
  everyone.rank = PMIX_RANK_WILDCARD;
  return check("PMIx_Fence", fence_(&everyone, 1, &info, 1));
}

void PmixLibrary::abort(int exit_code, const std::string& reason) {
  pmix_proc_t everyone = self_;
  everyone.rank = PMIX_RANK_WILDCARD;
  abort_(exit_code, reason.c_str(), &everyone, 1);
}

}  // namespace hawser
