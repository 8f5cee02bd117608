// Starting, cancelling, freeing and looking at requests (MPI-5.0 sections 3.7.6, 3.8.4, 3.9), and generalized
// requests (section 13.2).
#include "api/completion.h"
#include "api/functions.h"
#include "api/message_data.h"
#include "mpi/failure.h"
#include "process/generalized_request.h"

namespace hawser::mpi {

// --- Looking without giving up ---

static Result<> look(MpiProcess& process, Request& request, Status* status) {
  Result<> result = request.finish();
  if (!result) process.set_error_origin(request);
  if (status != nullptr) *status = request.status;
  return result;
}

Result<> request_get_status(MpiProcess& process, Request* request, bool& flag, Status* status) {
  flag = true;
  if (!is_active(request)) {
    if (status != nullptr) *status = Status::empty();
    return {};
  }
  if (!request->complete) process.poll_for_test();
  flag = request->complete;
  return flag ? look(process, *request, status) : Result<>{};
}

Result<> request_get_status_all(MpiProcess& process, std::span<Request* const> array_of_requests, bool& flag,
                                Status* array_of_statuses) {
  const auto complete = [&] {
    for (const Request* r : array_of_requests)
      if (is_active(r) && !r->complete) return false;
    return true;
  };
  flag = complete();
  if (!flag) {
    process.poll_for_test();
    flag = complete();
  }
  if (!flag) return {};
  for (std::size_t i = 0; i < array_of_requests.size(); ++i) {
    Status* const status = array_of_statuses == nullptr ? nullptr : array_of_statuses + i;
    if (is_active(array_of_requests[i])) {
      HAWSER_TRY(look(process, *array_of_requests[i], status));
    } else if (status != nullptr) {
      *status = Status::empty();
    }
  }
  return {};
}

Result<> request_get_status_any(MpiProcess& process, std::span<Request* const> array_of_requests, int& index,
                                bool& flag, Status* status) {
  for (int pass = 0; pass < 2; ++pass) {
    bool any_active = false;
    for (std::size_t i = 0; i < array_of_requests.size(); ++i) {
      if (!is_active(array_of_requests[i])) continue;
      any_active = true;
      if (!array_of_requests[i]->complete) continue;
      index = static_cast<int>(i);
      flag = true;
      return look(process, *array_of_requests[i], status);
    }
    index = undefined;
    flag = !any_active;
    if (flag) {
      if (status != nullptr) *status = Status::empty();
      return {};
    }
    if (pass == 0) process.poll_for_test();
  }
  return {};
}

Result<> request_get_status_some(MpiProcess& process, std::span<Request* const> array_of_requests,
                                 int& outcount, int* array_of_indices, Status* array_of_statuses) {
  for (int pass = 0; pass < 2; ++pass) {
    bool any_active = false;
    outcount = 0;
    for (std::size_t i = 0; i < array_of_requests.size(); ++i) {
      if (!is_active(array_of_requests[i])) continue;
      any_active = true;
      if (!array_of_requests[i]->complete) continue;
      Status* const status = array_of_statuses == nullptr ? nullptr : array_of_statuses + outcount;
      array_of_indices[outcount++] = static_cast<int>(i);
      HAWSER_TRY(look(process, *array_of_requests[i], status));
    }
    if (!any_active) outcount = undefined;
    if (outcount != 0) return {};
    if (pass == 0) process.poll_for_test();
  }
  return {};
}

// --- Starting ---

Result<> start(MpiProcess& process, Request*& request) {
  if (request == nullptr || !request->persistent)
    return failure(ErrorClass::request, "only a persistent request can be started");
  if (request->active) {
    process.set_error_origin(*request);
    return failure(ErrorClass::request, "the request is already active");
  }
  if (request->pooled && static_cast<MessageRequest*>(request)->mode == SendMode::buffered)
    settle_lanes(process);
  Result<> result = request->start();
  if (!result) process.set_error_origin(*request);
  if (!request->complete) process.expect();
  return result;
}

Result<> startall(MpiProcess& process, std::span<Request*> array_of_requests) {
  for (Request*& request : array_of_requests) HAWSER_TRY(start(process, request));
  return {};
}

// --- Cancelling and freeing ---

Result<> cancel(MpiProcess& process, Request*& request) {
  if (request == nullptr) return failure(ErrorClass::request, "MPI_REQUEST_NULL cannot be cancelled");
  if (request->shared || !request->active) return {};
  Result<> result = request->cancel();
  if (!result) process.set_error_origin(*request);
  return result;
}

Result<> request_free(MpiProcess& process, Request*& request) {
  if (request == nullptr) return failure(ErrorClass::request, "MPI_REQUEST_NULL cannot be freed");
  Request* const r = request;
  request = nullptr;
  if (r->shared) return {};
  process.requests_of(*r).forget(*r);
  Result<> result = r->complete ? r->end() : Result<>{};
  r->destroy();
  return result;
}

// --- Generalized requests ---

Result<> grequest_start(MpiProcess& process, AbiFunction query_fn, AbiFunction free_fn, AbiFunction cancel_fn,
                        void* extra_state, Request*& request) {
  request = new GeneralizedRequest(process, query_fn, free_fn, cancel_fn, extra_state);
  return {};
}

Result<> grequest_complete(MpiProcess&, Request* request) {
  if (request == nullptr || request->kind != Request::Kind::generalized)
    return failure(ErrorClass::request, "the request was not made by MPI_Grequest_start");
  return static_cast<GeneralizedRequest*>(request)->set_complete();
}

}  // namespace hawser::mpi
