// The short ways of sends that are complete when they begin, for the entry points to inline.
//
// MPI_Send and MPI_Isend: small messages in one piece to a process that shares memory. The arguments are
// right if each passes one comparison; what is wrong with others the usual checks find.
//
// MPI_Wait and MPI_Test: all such sends have one request (PointToPoint::sent), which is never given back and
// whose status never changes. So nothing has to be locked, found or released.
#pragma once

#include "api/message_data.h"
#include "binding/entry.h"

namespace hawser::binding {

// False: nothing was sent.
[[gnu::always_inline]] inline bool sends_at_once(MpiProcess& process, const void* buf, std::int64_t count,
                                                 const Datatype& datatype, int dest, int tag,
                                                 const Communicator& comm, TrafficClass traffic) {
  if (!comm.may_send_at_once_to(dest) || tag < 0 || !Entry::good_count(count, datatype) ||
      !datatype.contiguous) [[unlikely]]
    return false;
  // MPI_BOTTOM is the null pointer, too: whether it may be, the checks say.
  if (buf == nullptr) [[unlikely]]
    if (count != 0) return false;
  const ByteSequence bytes = mpi::one_piece(buf, count, datatype);
  return process.point_to_point().send_inline(comm.process_of(dest), bytes.data, bytes.size,
                                              [&] { return mpi::target_of(comm, dest, tag, traffic); });
}

[[gnu::always_inline]] inline bool gives_up_sent(MPI_Request* request, MPI_Status* status) {
  MpiProcess* const process = current_slot().running;
  if (process == nullptr || request == nullptr) return false;
  // Over rails messages may wait for this call to let them go.
  if (process->environment().rails != nullptr) return false;
  if (*request != handle_of_sent(*process)) return false;
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
