// What a process counts of its one-sided and collective operations.
#pragma once

#include <cstdint>

namespace hawser {

// As their origin; those on MPI_PROC_NULL do not count.
struct OneSidedCounters {
  std::uint64_t puts = 0;
  std::uint64_t gets = 0;
  std::uint64_t accumulates = 0;
  std::uint64_t fetches = 0;        // MPI_Get_accumulate, MPI_Fetch_and_op, MPI_Compare_and_swap
  std::uint64_t bytes_written = 0;  // to targets: of puts, accumulates and fetches
  std::uint64_t bytes_read = 0;     // from targets: of gets and fetches
};

// Of collective operations; 0 where the process has no such part.
struct CollectiveCounters {
  std::uint64_t multicast_broadcasts = 0;  // of which this process was the root
  std::uint64_t multicast_by_trees = 0;
  std::uint64_t multicast_packets_repaired = 0;
  std::uint64_t multicast_waits = 0;
  std::uint64_t multicast_suspensions = 0;
  std::uint64_t ways_measured = 0;
  std::uint64_t ways_by_messages = 0;
  std::uint64_t ways_otherwise = 0;
};

}  // namespace hawser
