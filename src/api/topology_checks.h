// What the making and asking of topologies have in common.
#pragma once

#include "mpi/failure.h"
#include "process/mpi_process.h"

namespace hawser::mpi {

inline Result<> check_no_intercommunicator(const Communicator& comm) {
  if (comm.inter()) return failure(ErrorClass::comm, "an intercommunicator has no topology");
  return {};
}

inline Result<> check_rank(const char* argument, int rank, int size) {
  if (rank >= 0 && rank < size) return {};
  return failure(ErrorClass::rank, "{} is {}, but the communicator has {} ranks", argument, rank, size);
}

inline Result<> check_room(const char* argument, int room, int needed) {
  if (room >= needed) return {};
  return failure(ErrorClass::arg, "{} is {}, but must be at least {}", argument, room, needed);
}

}  // namespace hawser::mpi
