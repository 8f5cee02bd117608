// The program of jobs whose ranks are killed: rounds of messages and collective operations. After each round
// those that live agree whether it went well; if not, they shrink the communicator and do it again. What is
// received is compared byte by byte; what is found wrong is thrown as std::runtime_error.
#pragma once

#include <cstdint>

#include "testbed/campaign/buffers.h"
#include "testbed/simulator/simulation.h"

namespace hawser {

struct SurvivorPlan {
  int rounds = 0;             // at least
  Nanoseconds last_kill = 0;  // after the start; the rounds go on until then
  int largest = 0;            // bytes of a message
  Nanoseconds computing = 0;  // at most, in a round
  bool windows = false;       // some rounds are epochs of a window
  int late_every = 0;         // ranks that are a multiple of this are late in some rounds; 0: none
  bool any() const { return rounds > 0; }
};

// From MPI_Init to MPI_Finalize. Answers how many ranks were left in the last communicator.
int run_survivors(SimulatedRank& rank, const SurvivorPlan& plan, Buffers& buffers, std::uint64_t seed);

}  // namespace hawser
