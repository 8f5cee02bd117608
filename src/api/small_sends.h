// MPI_Send and MPI_Isend of small messages to a process that shares memory, for the entry points to inline:
// between the checks of the arguments and the message's slot in the ring no function is called. Included by
// functions.h, which declares what is defined here.
#pragma once

#include "api/message_data.h"

namespace hawser::mpi {

// What the short way does not take.
Result<> send_otherwise(MpiProcess& process, const void* buf, std::int64_t count, Datatype& datatype,
                        int dest, int tag, Communicator& comm);
Request& isend_otherwise(MpiProcess& process, const void* buf, std::int64_t count, Datatype& datatype,
                         int dest, int tag, Communicator& comm);

// A small standard message in one piece, which the channel takes at once.
[[gnu::always_inline]] inline bool sent_at_once(MpiProcess& process, const void* buf, std::int64_t count,
                                                const Datatype& datatype, int dest, int tag,
                                                const Communicator& comm, TrafficClass traffic) {
  if (!comm.may_send_to(dest) || !datatype.contiguous) [[unlikely]]
    return false;
  const ByteSequence bytes = one_piece(buf, count, datatype);
  return process.point_to_point().send_inline(target_of(comm, dest, tag, traffic), bytes.data, bytes.size);
}

[[gnu::always_inline]] inline Result<> send(MpiProcess& process, const void* buf, std::int64_t count,
                                            Datatype& datatype, int dest, int tag, Communicator& comm) {
  if (sent_at_once(process, buf, count, datatype, dest, tag, comm, TrafficClass::blocking)) [[likely]]
    return {};
  return send_otherwise(process, buf, count, datatype, dest, tag, comm);
}

[[gnu::always_inline]] inline Result<> isend(MpiProcess& process, const void* buf, std::int64_t count,
                                             Datatype& datatype, int dest, int tag, Communicator& comm,
                                             Request*& request) {
  if (sent_at_once(process, buf, count, datatype, dest, tag, comm, TrafficClass::nonblocking)) [[likely]]
    request = &process.point_to_point().sent();
  else
    request = &isend_otherwise(process, buf, count, datatype, dest, tag, comm);
  return {};
}

}  // namespace hawser::mpi
