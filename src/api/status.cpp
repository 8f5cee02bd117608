// The parts of a status (MPI-5.0 sections 3.2.5, 3.2.6 and 13.3); what needs a datatype is in
// datatype_data.cpp.
#include "api/functions.h"
#include "process/mpi_process.h"

namespace hawser::mpi {

Result<> test_cancelled(MpiProcess&, const Status& status, bool& flag) {
  flag = status.cancelled;
  return {};
}

Result<> status_set_cancelled(MpiProcess&, Status& status, bool flag) {
  status.cancelled = flag;
  return {};
}

Result<> status_get_error(MpiProcess&, const Status& status, int& err) {
  err = static_cast<int>(status.error);
  return {};
}

Result<> status_get_source(MpiProcess&, const Status& status, int& source) {
  source = status.source;
  return {};
}

Result<> status_get_tag(MpiProcess&, const Status& status, int& tag) {
  tag = status.tag;
  return {};
}

Result<> status_set_error(MpiProcess&, Status& status, int err) {
  status.error = static_cast<ErrorClass>(err);
  return {};
}

Result<> status_set_source(MpiProcess&, Status& status, int source) {
  status.source = source;
  return {};
}

Result<> status_set_tag(MpiProcess&, Status& status, int tag) {
  status.tag = tag;
  return {};
}

}  // namespace hawser::mpi
