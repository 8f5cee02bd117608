// Included before every case of `conformance_on_lanes`: what a case calls MPI_COMM_WORLD is a duplicate of
// it, which is on a lane for threads.
#pragma once

#include <mpi.h>

namespace conformance {
// Set before the first case.
extern MPI_Comm world_on_lane;
}  // namespace conformance

#ifndef CONFORMANCE_MAIN
#undef MPI_COMM_WORLD
#define MPI_COMM_WORLD (::conformance::world_on_lane)
#endif
