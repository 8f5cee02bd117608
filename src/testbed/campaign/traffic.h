// RankTraffic: one simulated rank's part of a TrafficPlan, in MPI calls. What it receives is compared byte by
// byte; what it finds wrong is thrown as std::runtime_error.
#pragma once

#include "testbed/campaign/buffers.h"
#include "testbed/campaign/traffic_plan.h"
#include "testbed/simulator/simulation.h"

namespace hawser {

// From MPI_Init to MPI_Finalize. `seed`: of what ranks decide by themselves (how long they compute, where
// the pieces of derived types lie).
void run_traffic(SimulatedRank& rank, const TrafficPlan& plan, Buffers& buffers, std::uint64_t seed);

}  // namespace hawser
