// OfiFunctions: the functions that libfabric exports, as pointers, so that nothing here needs the library
// when the program is loaded. All else of libfabric's interface goes through the tables of its objects.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_rma.h>

#include <memory>
#include <string_view>

#include "base/result.h"

namespace hawser::rdma {

struct OfiFunctions {
  decltype(&::fi_getinfo) getinfo = nullptr;
  decltype(&::fi_freeinfo) freeinfo = nullptr;
  decltype(&::fi_dupinfo) dupinfo = nullptr;
  decltype(&::fi_fabric) fabric = nullptr;
  decltype(&::fi_strerror) strerror = nullptr;
};

// From libfabric.so.1, by the dynamic linker's usual search; it stays loaded. An error when there is none or
// it lacks a function.
Result<OfiFunctions> load_ofi_functions();

// "fi_endpoint on eth0: Connection refused". `error` is libfabric's, negative or positive.
Error refused(const OfiFunctions& functions, std::string_view call, std::string_view device, long error);

struct OfiCloser {
  template <class Object>
  void operator()(Object* object) const {
    fi_close(&object->fid);
  }
};
// An object of libfabric; what was made from it must be closed before.
template <class Object>
using OfiHandle = std::unique_ptr<Object, OfiCloser>;

}  // namespace hawser::rdma
