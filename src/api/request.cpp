// Waiting for requests and testing them (MPI-5.0 sections 3.7.3 to 3.7.6).
#include "api/completion.h"
#include "api/functions.h"
#include "api/message_data.h"
#include "message/joint_request.h"
#include "mpi/failure.h"

namespace hawser::mpi {

Result<> finish_slowly(MpiProcess& process, Request*& request, Status* status) {
  Request* const r = request;
  Result<> result = r->finish();
  if (status != nullptr) *status = r->status;
  if (result && r->status.error != ErrorClass::success) {
    if (r->pooled) {
      const auto& message = static_cast<const MessageRequest&>(*r);
      result = error_of(r->status, message.message_size, message.bytes.size);
    } else {
      result = failure(r->status.error, "the operation failed");
    }
  }
  if (!result) process.set_error_origin(*r);
  // A receive that goes on.
  if (r->status.error == ErrorClass::proc_failed_pending) return result;
  if (r->persistent) {
    r->active = false;
    return result;
  }
  request = nullptr;
  process.requests_of(*r).forget(*r);
  Result<> ended = r->end();
  r->destroy();
  if (result && !ended) return ended;
  return result;
}

static void set_empty(Status* status) {
  if (status != nullptr) *status = Status::empty();
}

static Status* element(Status* statuses, std::size_t i) {
  return statuses == nullptr ? nullptr : statuses + i;
}

// --- One ---

Result<> wait_otherwise(MpiProcess& process, Request*& request, Status* status) {
  if (!is_active(request)) {
    set_empty(status);
    return {};
  }
  process.wait_for(*request);
  process.let_messages_go();
  return finish(process, request, status);
}

Result<> test_otherwise(MpiProcess& process, Request*& request, bool& flag, Status* status) {
  flag = true;
  if (!is_active(request)) {
    set_empty(status);
    return {};
  }
  process.poll_for_test();
  if (!request->complete) {
    flag = false;
    return {};
  }
  process.let_messages_go();
  return finish(process, request, status);
}

// --- All ---

// Several requests may have failed: their statuses tell which, and the one error stands for all.
static Result<> finish_all(MpiProcess& process, std::span<Request*> requests, Status* statuses,
                           bool may_wait) {
  std::int64_t failed = -1;
  Error first;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    Request* const r = requests[i];
    Status* const status = element(statuses, i);
    if (!is_active(r)) {
      set_empty(status);
      continue;
    }
    if (may_wait && !r->complete) process.wait_for(*r);
    Result<> result = finish(process, requests[i], status);
    if (!result) [[unlikely]] {
      const Error& error = result.error();
      if (status != nullptr) status->error = error_class_of(error);
      if (failed < 0) {
        failed = static_cast<std::int64_t>(i);
        first = result.take_error();
      }
    }
  }
  process.let_messages_go();
  if (failed < 0) [[likely]]
    return {};
  return failure(ErrorClass::in_status, "request {} failed: {}", failed, first.text);
}

Result<> waitall(MpiProcess& process, std::span<Request*> array_of_requests, Status* array_of_statuses) {
  return finish_all(process, array_of_requests, array_of_statuses, true);
}

static bool all_complete(std::span<Request* const> requests) {
  for (const Request* r : requests)
    if (is_active(r) && !r->complete) return false;
  return true;
}

Result<> testall(MpiProcess& process, std::span<Request*> array_of_requests, bool& flag,
                 Status* array_of_statuses) {
  flag = all_complete(array_of_requests);
  if (!flag) {
    process.poll_for_test();
    flag = all_complete(array_of_requests);
  }
  if (!flag) return {};
  return finish_all(process, array_of_requests, array_of_statuses, false);
}

// --- Any ---

namespace {
struct Search {
  bool any_active = false;
  int complete = undefined;  // index of the first complete request
};

Search search(std::span<Request* const> requests) {
  Search result;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (!is_active(requests[i])) continue;
    result.any_active = true;
    if (requests[i]->complete) {
      result.complete = static_cast<int>(i);
      break;
    }
  }
  return result;
}
}  // namespace

Result<> waitany(MpiProcess& process, std::span<Request*> array_of_requests, int& index, Status* status) {
  Search found = search(array_of_requests);
  if (found.any_active && found.complete == undefined) {
    const auto any_complete = [&] {
      found = search(array_of_requests);
      return found.complete != undefined;
    };
    process.wait_for_any(any_complete, array_of_requests.size());
  }
  process.let_messages_go();
  index = found.complete;
  if (index == undefined) {
    set_empty(status);
    return {};
  }
  return finish(process, array_of_requests[static_cast<std::size_t>(index)], status);
}

Result<> testany(MpiProcess& process, std::span<Request*> array_of_requests, int& index, bool& flag,
                 Status* status) {
  Search found = search(array_of_requests);
  if (found.any_active && found.complete == undefined) {
    process.poll_for_test();
    found = search(array_of_requests);
  }
  process.let_messages_go();
  index = found.complete;
  flag = !found.any_active || index != undefined;
  if (index != undefined) return finish(process, array_of_requests[static_cast<std::size_t>(index)], status);
  if (flag) set_empty(status);
  return {};
}

// --- Some ---

// Finishes what is complete; outcount as MPI_Waitsome gives it.
static Result<> finish_some(MpiProcess& process, std::span<Request*> requests, int& outcount, int* indices,
                            Status* statuses) {
  process.let_messages_go();
  outcount = 0;
  bool any_failed = false;
  Error first;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (!is_active(requests[i]) || !requests[i]->complete) continue;
    const auto place = static_cast<std::size_t>(outcount++);
    indices[place] = static_cast<int>(i);
    Status* const status = element(statuses, place);
    Result<> result = finish(process, requests[i], status);
    if (!result) [[unlikely]] {
      const Error& error = result.error();
      if (status != nullptr) status->error = error_class_of(error);
      if (!any_failed) first = result.take_error();
      any_failed = true;
    }
  }
  if (any_failed) return failure(ErrorClass::in_status, "a request failed: {}", first.text);
  return {};
}

Result<> waitsome(MpiProcess& process, std::span<Request*> array_of_requests, int& outcount,
                  int* array_of_indices, Status* array_of_statuses) {
  const Search found = search(array_of_requests);
  if (!found.any_active) {
    outcount = undefined;
    return {};
  }
  if (found.complete == undefined)
    process.wait_for_any([&] { return search(array_of_requests).complete != undefined; },
                         array_of_requests.size());
  return finish_some(process, array_of_requests, outcount, array_of_indices, array_of_statuses);
}

Result<> testsome(MpiProcess& process, std::span<Request*> array_of_requests, int& outcount,
                  int* array_of_indices, Status* array_of_statuses) {
  const Search found = search(array_of_requests);
  if (!found.any_active) {
    outcount = undefined;
    return {};
  }
  if (found.complete == undefined) process.poll_for_test();
  return finish_some(process, array_of_requests, outcount, array_of_indices, array_of_statuses);
}

}  // namespace hawser::mpi
