// What wait and test do with a request that is complete.
#pragma once

#include "process/mpi_process.h"

namespace hawser::mpi {

inline bool is_active(const Request* request) { return request != nullptr && request->active; }

// Hands out the status of a complete request and gives the request up: the pointer becomes null, unless the
// request is persistent and becomes inactive. The error is the request's.
Result<> finish_slowly(MpiProcess& process, Request*& request, Status* status);

inline Result<> finish(MpiProcess& process, Request*& request, Status* status) {
  Request* const r = request;
  if (r->shared) [[likely]] {
    if (status != nullptr) *status = r->status;
    request = nullptr;
    return {};
  }
  if (r->pooled && !r->persistent && r->status.error == ErrorClass::success && r->lane == 0) [[likely]] {
    if (status != nullptr) *status = r->status;
    process.point_to_point().release(static_cast<MessageRequest&>(*r));
    request = nullptr;
    return {};
  }
  return finish_slowly(process, request, status);
}

}  // namespace hawser::mpi
