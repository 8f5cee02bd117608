// For tests that mean a steady state: connections are made before the clock starts.
#pragma once

#include <mpi.h>

#include <vector>

namespace hawser {

// By messages of this size: too large for a datagram, and by default for a packet.
inline void connect_with_all(int bytes = 17 << 10) {
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  std::vector<char> from(static_cast<std::size_t>(bytes) * static_cast<std::size_t>(ranks)), to(from.size());
  MPI_Alltoall(from.data(), bytes, MPI_BYTE, to.data(), bytes, MPI_BYTE, MPI_COMM_WORLD);
}

}  // namespace hawser
