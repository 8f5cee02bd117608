#include "message/request.h"

#include "mpi/failure.h"

namespace hawser {

Result<> Request::start() {
  return failure(ErrorClass::request, "the request is not persistent, so it cannot be started");
}

Result<> Request::cancel() {
  return failure(ErrorClass::request, "a request of this kind cannot be cancelled");
}

}  // namespace hawser
