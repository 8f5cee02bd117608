// What the making and asking of topologies have in common.
#pragma once

#include "base/failure.h"
#include "collective/construction.h"
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
  return failure(ErrorClass::arg, "{} is {}, but {} are needed", argument, room, needed);
}

// A communicator over the first `size` ranks; null on the others.
inline Result<> create_over_first(MpiProcess& process, Communicator& parent, int size,
                                  Ref<Communicator>& out) {
  const RankRange first{0, size - 1, 1};
  auto group = parent.group()->including_ranges({&first, static_cast<std::size_t>(size > 0)});
  if (!group) return group.take_error();
  auto made = create(process.collectives(), parent, group.value());
  if (!made) return made.take_error();
  out = std::move(made).value();
  if (!out) return {};
  out->error_handler = parent.error_handler;
  out->session = parent.session;
  return {};
}

}  // namespace hawser::mpi
