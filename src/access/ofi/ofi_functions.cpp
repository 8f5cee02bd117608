#include "access/ofi/ofi_functions.h"

#include <dlfcn.h>

#include <cstdlib>

#include "base/failure.h"

namespace hawser::rdma {

Result<OfiFunctions> load_ofi_functions() {
  constexpr const char* library = "libfabric.so.1";
  void* const loaded = ::dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (loaded == nullptr) return failure(ErrorKind::other, "cannot load {}: {}", library, ::dlerror());
  OfiFunctions functions;
  const char* missing = nullptr;
  const auto find = [&](const char* name, auto& pointer) {
    pointer = reinterpret_cast<std::remove_reference_t<decltype(pointer)>>(::dlsym(loaded, name));
    if (pointer == nullptr) missing = name;
  };
  find("fi_getinfo", functions.getinfo);
  find("fi_freeinfo", functions.freeinfo);
  find("fi_dupinfo", functions.dupinfo);
  find("fi_fabric", functions.fabric);
  find("fi_strerror", functions.strerror);
  if (missing != nullptr) return failure(ErrorKind::other, "{} has no function {}", library, missing);
  return functions;
}

Error refused(const OfiFunctions& functions, std::string_view call, std::string_view device, long error) {
  return failure(ErrorKind::other, "{} on {}: {}", call, device,
                 functions.strerror(static_cast<int>(std::labs(error))));
}

}  // namespace hawser::rdma
