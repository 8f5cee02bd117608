// RankTraffic: one simulated rank's part of a TrafficPlan, in MPI calls. What it receives is compared byte by
// byte; what it finds wrong is thrown as std::runtime_error.
#pragma once

#include <map>
#include <utility>

#include "testbed/campaign/buffers.h"
#include "testbed/campaign/traffic_plan.h"
#include "testbed/simulator/simulation.h"

namespace hawser {

// When the ranks of a job had posted the receives of a phase.
class PostedReceives {
 public:
  void note(int rank, std::size_t phase, Nanoseconds now) { times_[{rank, phase}] = now; }
  // -1: not yet.
  Nanoseconds find(int rank, std::size_t phase) const {
    const auto found = times_.find({rank, phase});
    return found == times_.end() ? -1 : found->second;
  }

 private:
  std::map<std::pair<int, std::size_t>, Nanoseconds> times_;
};

// From MPI_Init to MPI_Finalize. `seed`: of what ranks decide by themselves (how long they compute, where
// the pieces of derived types lie).
void run_traffic(SimulatedRank& rank, const TrafficPlan& plan, Buffers& buffers, PostedReceives& posted,
                 std::uint64_t seed);

}  // namespace hawser
