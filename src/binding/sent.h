// MPI_Wait and MPI_Test of a send that was complete when it began. All such sends have one request
// (PointToPoint::sent), which is never given back and whose status never changes. So nothing has to be
// locked, found or released.
#pragma once

#include "binding/entry.h"

namespace hawser::binding {

[[gnu::always_inline]] inline bool gives_up_sent(MPI_Request* request, MPI_Status* status) {
  MpiProcess* const process = current_slot().running;
  if (process == nullptr || request == nullptr) return false;
  // Over rails messages may wait for this call to let them go.
  if (process->environment().rails != nullptr) return false;
  if (*request != Codec<Request>::handle(process->point_to_point().sent().handle)) return false;
  *request = Codec<Request>::handle(0);
  if (!ignored(status)) write_status(*status, Status::empty());
  return true;
}

[[gnu::always_inline]] inline bool gives_up_sent(MPI_Request* request, int* flag, MPI_Status* status) {
  if (flag == nullptr || !gives_up_sent(request, status)) return false;
  *flag = 1;
  return true;
}

}  // namespace hawser::binding
