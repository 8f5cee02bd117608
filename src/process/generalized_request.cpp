#include "process/generalized_request.h"

#include "mpi/failure.h"
#include "process/mpi_process.h"

namespace hawser {

GeneralizedRequest::GeneralizedRequest(MpiProcess& process, AbiFunction query, AbiFunction free,
                                       AbiFunction cancel, void* extra_state)
    : Request(Kind::generalized),
      process_(process),
      query_(query),
      free_(free),
      cancel_(cancel),
      extra_state_(extra_state) {}

static Result<> result_of(int code, const char* function) {
  if (code == 0) return {};
  Error error = failure(ErrorClass::other, "the request's {} function failed with code {}", function, code);
  error.code = code;
  return error;
}

Result<> GeneralizedRequest::cancel() {
  if (cancel_ == nullptr) return {};
  Unlocked unlocked(process_);
  return result_of(process_.hooks().cancel_request(cancel_, extra_state_, complete), "cancel");
}

Result<> GeneralizedRequest::finish() {
  status = Status::empty();
  if (query_ == nullptr) return {};
  Unlocked unlocked(process_);
  return result_of(process_.hooks().query_request(query_, extra_state_, status), "query");
}

Result<> GeneralizedRequest::end() {
  if (free_ == nullptr) return {};
  Unlocked unlocked(process_);
  return result_of(process_.hooks().free_request(free_, extra_state_), "free");
}

void GeneralizedRequest::destroy() {
  if (complete)
    delete this;
  else
    user_freed = true;
}

Result<> GeneralizedRequest::set_complete() {
  if (complete) return failure(ErrorClass::request, "the generalized request is already complete");
  complete = true;
  if (!user_freed) return {};
  Result<> result = end();
  delete this;
  return result;
}

}  // namespace hawser
