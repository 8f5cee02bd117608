// A broadcast down a tree whose largest subtree is the farthest: behind another switch, so that it asks for
// the data after the smaller ones.
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <vector>

#include "connected.h"
#include "testbed/simulator/simulation.h"

namespace hawser {
namespace {

// Of the slowest of 16 ranks, twelve of which share a switch.
Nanoseconds broadcast_time(int bytes) {
  SimulationOptions options{.ranks = 16};
  options.fabric = FabricOptions{
      .topology = "fat-tree-144", .rails = 2, .parameters = "link-rate 1GB/s\nlink-latency 300ns\n"};
  options.fabric->cost.registration = 0;
  options.knobs = {{"HAWSER_COLLECTIVE_ALGORITHM", "broadcast=binomial"}};
  Nanoseconds longest = 0;
  const SimulationOutcome outcome = Simulation(options).run([&](SimulatedRank& self) {
    MPI_Init(nullptr, nullptr);
    connect_with_all();
    std::vector<char> data(static_cast<std::size_t>(bytes));
    for (int round = 1; round <= 5; ++round) {
      MPI_Barrier(MPI_COMM_WORLD);
      const Nanoseconds begin = second + round * 10 * millisecond;
      self.compute(begin - self.local_time());
      MPI_Bcast(data.data(), bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
      if (round == 5) longest = std::max(longest, self.local_time() - begin);
    }
    MPI_Finalize();
  });
  EXPECT_TRUE(outcome.finished()) << outcome.report;
  return longest;
}

// Each of four steps moves 32 KiB in 16.4 us. With all subtrees at once it took 115.
TEST(TreeBroadcast, TheFarthestSubtreeDoesNotComeLast) {
  const Nanoseconds longest = broadcast_time(32 << 10);
  EXPECT_LT(longest, 95 * microsecond);
  EXPECT_GT(longest, 4 * 16 * microsecond);
}

}  // namespace
}  // namespace hawser
