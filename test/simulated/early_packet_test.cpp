// A packet that comes before one that was sent earlier over a slower rail waits for that. A receiver that
// computes goes on with it when the earlier one is there, though that interrupts nobody by itself.
#include <gtest/gtest.h>
#include <mpi.h>

#include <vector>

#include "connected.h"
#include "testbed/simulator/simulation.h"

namespace hawser {
namespace {

class EarlyPacket : public testing::TestWithParam<int> {};
// Packets take both rails in turn, so with one of these numbers of messages the last one takes the slow rail.
INSTANTIATE_TEST_SUITE_P(SmallMessages, EarlyPacket, testing::Values(1, 2));

TEST_P(EarlyPacket, IsTakenWhileTheReceiverComputes) {
  constexpr int large = 1 << 20;
  constexpr Nanoseconds computation = 4 * millisecond;
  SimulationOptions options{.ranks = 2};
  options.fabric.emplace();
  options.fabric->topology = "two-switch";
  options.fabric->parameters =
      "link-rate 1GB/s link-latency 1us\nlink n0/hw0 latency 100us\nlink n1/hw0 latency 100us\n";
  options.knobs = {{"HAWSER_PROGRESS", "interrupt"}, {"HAWSER_RAIL_POLICY", "round_robin"}};
  const SimulationOutcome outcome = Simulation(options).run([](SimulatedRank& self) {
    MPI_Init(nullptr, nullptr);
    connect_with_all();
    std::vector<char> data(large);
    const int small_messages = GetParam();
    for (int round = 0; round < 20; ++round) {
      MPI_Barrier(MPI_COMM_WORLD);
      self.compute(5 * millisecond);
      std::vector<int> small(static_cast<std::size_t>(small_messages), round);
      std::vector<MPI_Request> requests;
      for (int i = 0; i < small_messages; ++i) {
        requests.emplace_back();
        if (self.rank() == 0)
          MPI_Isend(&small[static_cast<std::size_t>(i)], 1, MPI_INT, 1, i, MPI_COMM_WORLD, &requests.back());
        else
          MPI_Irecv(&small[static_cast<std::size_t>(i)], 1, MPI_INT, 0, i, MPI_COMM_WORLD, &requests.back());
      }
      requests.emplace_back();
      if (self.rank() == 0)
        MPI_Isend(data.data(), large, MPI_BYTE, 1, 99, MPI_COMM_WORLD, &requests.back());
      else
        MPI_Irecv(data.data(), large, MPI_BYTE, 0, 99, MPI_COMM_WORLD, &requests.back());
      if (self.rank() == 1) self.compute(computation);
      const Nanoseconds begin = self.now();
      MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
      EXPECT_LT(self.now() - begin, self.rank() == 1 ? 500 * microsecond : computation) << "round " << round;
    }
    MPI_Finalize();
  });
  EXPECT_TRUE(outcome.finished()) << outcome.report;
}

}  // namespace
}  // namespace hawser
