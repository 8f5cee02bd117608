#include "access/verbs/verbs_functions.h"

#include <dlfcn.h>

#include "base/failure.h"

namespace hawser::rdma {

Result<VerbsFunctions> load_verbs_functions() {
  constexpr const char* library = "libibverbs.so.1";
  void* const loaded = ::dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (loaded == nullptr) return failure(ErrorKind::other, "cannot load {}: {}", library, ::dlerror());
  VerbsFunctions functions;
  functions.may_wait = true;
  const char* missing = nullptr;
  const auto find = [&](const char* name, auto& pointer) {
    pointer = reinterpret_cast<std::remove_reference_t<decltype(pointer)>>(::dlsym(loaded, name));
    if (pointer == nullptr) missing = name;
  };
#define HAWSER_VERBS_FIND(name) find("ibv_" #name, functions.name);
  HAWSER_VERBS_FUNCTIONS(HAWSER_VERBS_FIND)
#undef HAWSER_VERBS_FIND
  if (missing != nullptr) return failure(ErrorKind::other, "{} has no function {}", library, missing);
  find("_ibv_query_gid_ex", functions.query_gid_ex);
  find("_ibv_query_gid_table", functions.query_gid_table);
  return functions;
}

}  // namespace hawser::rdma
