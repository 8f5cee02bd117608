// What a process counts of its one-sided operations, as their origin; those on MPI_PROC_NULL do not count.
#pragma once

#include <cstdint>

namespace hawser {

struct OneSidedCounters {
  std::uint64_t puts = 0;
  std::uint64_t gets = 0;
  std::uint64_t accumulates = 0;
  std::uint64_t fetches = 0;        // MPI_Get_accumulate, MPI_Fetch_and_op, MPI_Compare_and_swap
  std::uint64_t bytes_written = 0;  // to targets: of puts, accumulates and fetches
  std::uint64_t bytes_read = 0;     // from targets: of gets and fetches
};

}  // namespace hawser
