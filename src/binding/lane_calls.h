// The most frequent calls on lanes for threads (message/message_lane.h), under the lane's lock alone: data in
// one piece of a predefined type, and requests that end well. Everything else, mistakes among it, is left to
// the usual way, before anything was done or when the request is complete.
#pragma once

#include <cstdint>

#include "binding/abi.h"
#include "process/process_slot.h"

namespace hawser::binding {

// Whether the calls below may be made.
inline bool has_lanes() {
  const MpiProcess* const process = current_slot().running;
  return process != nullptr && process->has_lanes();
}

// They answer the code to return to the program; or not_on_lane: go the usual way.
inline constexpr int not_on_lane = -1;
int send_on_lane(const char* function, const void* buf, std::int64_t count, MPI_Datatype datatype, int dest,
                 int tag, MPI_Comm comm);
int isend_on_lane(const char* function, const void* buf, std::int64_t count, MPI_Datatype datatype, int dest,
                  int tag, MPI_Comm comm, MPI_Request* request);
int recv_on_lane(const char* function, void* buf, std::int64_t count, MPI_Datatype datatype, int source,
                 int tag, MPI_Comm comm, MPI_Status* status);
int irecv_on_lane(const char* function, void* buf, std::int64_t count, MPI_Datatype datatype, int source,
                  int tag, MPI_Comm comm, MPI_Request* request);
int wait_on_lane(const char* function, MPI_Request* request, MPI_Status* status);
int test_on_lane(const char* function, MPI_Request* request, int* flag, MPI_Status* status);
int waitall_on_lane(const char* function, int count, MPI_Request* requests, MPI_Status* statuses);
int waitany_on_lane(const char* function, int count, MPI_Request* requests, int* index, MPI_Status* status);
int probe_on_lane(const char* function, int source, int tag, MPI_Comm comm, MPI_Status* status);

}  // namespace hawser::binding
