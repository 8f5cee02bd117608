// Bursts of small messages to a peer that there is no connection with go by datagrams, and the peer has room
// for some. What it lost is sent again as soon as it shows that it is there.
#include <gtest/gtest.h>
#include <mpi.h>

#include <vector>

#include "testbed/simulator/simulation.h"

namespace hawser {
namespace {

// Seconds until rank 0 has so many messages of so many numbers from each other.
double time_of_burst(int ranks, int messages, int numbers, const FabricOptions& fabric) {
  SimulationOptions options{.ranks = ranks};
  options.fabric = fabric;
  double took = 0;
  const SimulationOutcome outcome = Simulation(options).run([&](SimulatedRank& self) {
    MPI_Init(nullptr, nullptr);
    std::vector<MPI_Request> requests;
    std::vector<int> data(static_cast<std::size_t>(ranks * messages * numbers), self.rank());
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    for (int i = 0; i < ranks * messages; ++i) {
      int* const at = &data[static_cast<std::size_t>(i * numbers)];
      const int peer = self.rank() == 0 ? i / messages : 0;
      if (i / messages == 0 || (self.rank() != 0 && i / messages > 1)) continue;
      MPI_Request& request = requests.emplace_back();
      self.rank() == 0 ? MPI_Irecv(at, numbers, MPI_INT, peer, 0, MPI_COMM_WORLD, &request)
                       : MPI_Isend(at, numbers, MPI_INT, peer, 0, MPI_COMM_WORLD, &request);
    }
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    if (self.rank() == 0) took = MPI_Wtime() - begin;
    for (int i = messages * numbers; self.rank() == 0 && i < ranks * messages * numbers; ++i)
      EXPECT_EQ(data[static_cast<std::size_t>(i)], i / messages / numbers);
    MPI_Finalize();
  });
  EXPECT_TRUE(outcome.finished()) << outcome.report;
  EXPECT_GT(outcome.rails.datagrams_repeated, 0u) << "nothing was lost";
  return took;
}

const FabricOptions tree{.topology = "fat-tree-144", .rails = 2};

TEST(Burst, OfManyToOneIsOverSoon) {
  EXPECT_LT(time_of_burst(32, 16, 1, tree), 2e-3)
      << "7.7 ms when lost packets were sent again after 2 to 4 ms, twice";
}

// What asks whether rank 0 is there may be lost, too.
TEST(Burst, OfLongerMessagesIsOverSoon) {
  FabricOptions fast = tree;
  fast.parameters = "link-rate 12500MB/s link-latency 300ns\n";
  fast.cost.registration = 0;
  fast.cost.post = fast.cost.completion = 250;
  EXPECT_LT(time_of_burst(64, 32, 256, fast), 2.5e-3) << "4.2 ms when that was sent once in 2 to 4 ms";
}

}  // namespace
}  // namespace hawser
