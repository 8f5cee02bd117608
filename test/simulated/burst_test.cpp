// Bursts of small messages to a peer that there is no connection with go by datagrams, and the peer has room
// for some. What it lost is sent again as soon as it shows that it is there.
#include <gtest/gtest.h>
#include <mpi.h>

#include <vector>

#include "testbed/simulator/simulation.h"

namespace hawser {
namespace {

TEST(Burst, OfManyToOneIsOverSoon) {
  constexpr int ranks = 32, messages = 16;
  SimulationOptions options{.ranks = ranks};
  options.fabric = FabricOptions{.topology = "fat-tree-144", .rails = 2};
  double took = 0;
  const SimulationOutcome outcome = Simulation(options).run([&](SimulatedRank& self) {
    MPI_Init(nullptr, nullptr);
    std::vector<MPI_Request> requests;
    std::vector<int> data(ranks * messages, self.rank());
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    for (int i = 0; i < ranks * messages; ++i) {
      int* const at = &data[static_cast<std::size_t>(i)];
      const int peer = self.rank() == 0 ? i / messages : 0;
      if (i / messages == 0 || (self.rank() != 0 && i / messages > 1)) continue;
      MPI_Request& request = requests.emplace_back();
      self.rank() == 0 ? MPI_Irecv(at, 1, MPI_INT, peer, 0, MPI_COMM_WORLD, &request)
                       : MPI_Isend(at, 1, MPI_INT, peer, 0, MPI_COMM_WORLD, &request);
    }
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    if (self.rank() == 0) took = MPI_Wtime() - begin;
    for (int i = messages; self.rank() == 0 && i < ranks * messages; ++i)
      EXPECT_EQ(data[static_cast<std::size_t>(i)], i / messages);
    MPI_Finalize();
  });
  ASSERT_TRUE(outcome.finished()) << outcome.report;
  EXPECT_GT(outcome.rails.datagrams_repeated, 0u) << "nothing was lost";
  EXPECT_LT(took, 2e-3) << "7.7 ms when lost packets were sent again after 2 to 4 ms, twice";
}

}  // namespace
}  // namespace hawser
