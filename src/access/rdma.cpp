#include "access/rdma.h"

#include "base/failure.h"

namespace hawser::rdma {
namespace {

Error no_migration() {
  return failure(ErrorClass::unsupported_operation, "this device has no automatic path migration");
}

}  // namespace

const char* status_name(Status status) {
  switch (status) {
    case Status::success:
      return "success";
    case Status::flushed:
      return "flushed";
    case Status::retry_exceeded:
      return "retries exceeded";
    case Status::rnr_exceeded:
      return "receiver not ready";
    case Status::remote_access:
      return "refused by the remote adapter";
    case Status::local_error:
      return "local error";
    case Status::fatal:
      return "device gone";
    case Status::other:
      return "other error";
  }
  return "?";
}

Result<> QueuePair::load_alternate(const Route&, Nanoseconds) { return no_migration(); }

Result<> QueuePair::migrate() { return no_migration(); }

Result<> Device::open_again() {
  return failure(ErrorClass::unsupported_operation, "this device cannot be opened again");
}

Result<MigrationState> QueuePair::migration_state() { return no_migration(); }

}  // namespace hawser::rdma
