// Two rails of which one is farther than the other, in virtual time: how far they are is found out.
#include <gtest/gtest.h>
#include <mpi.h>

#include <string>
#include <vector>

#include "testbed/simulator/simulation.h"

namespace hawser {
namespace {

constexpr int many_rounds = 200;

// What the rails of two ranks counted in a ping-pong, each of these rails with so long links.
RailCounters counters_of(const std::vector<int>& latencies_us, const std::string& rate, double computes_us,
                         int rounds = many_rounds, const char* progress = "polling") {
  SimulationOptions options{.ranks = 2};
  const int rails = static_cast<int>(latencies_us.size());
  options.knobs = {{"HAWSER_PROGRESS", progress}};
  options.fabric = FabricOptions{.topology = rails > 1 ? "two-switch" : "single-switch", .rails = rails};
  std::string& parameters = options.fabric->parameters;
  parameters = "chunk 4K link-rate " + rate + "\n";
  for (int host = 0; host < 2; ++host)
    for (int rail = 0; rail < rails; ++rail)
      parameters += "link n" + std::to_string(host) + "/hw" + std::to_string(rail) + " rate " + rate +
                    " latency " + std::to_string(latencies_us[static_cast<std::size_t>(rail)]) + "us\n";
  const SimulationOutcome outcome = Simulation(options).run([&](SimulatedRank& self) {
    MPI_Init(nullptr, nullptr);
    const int rank = self.rank();
    char out = 1, in = 0;
    for (int i = 0; i < rounds; ++i) {
      if (rank == 0) MPI_Send(&out, 1, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
      self.compute(static_cast<Nanoseconds>(computes_us * 1000));
      MPI_Recv(&in, 1, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      if (rank == 1) MPI_Send(&out, 1, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    }
    MPI_Finalize();
  });
  EXPECT_TRUE(outcome.finished()) << outcome.report;
  return outcome.rails;
}

// Packets that carried no message.
std::int64_t others(const RailCounters& counters) {
  return static_cast<std::int64_t>(counters.packets_sent + counters.packets_by_datagram) - 2 * many_rounds;
}

TEST(UnlikeLatencies, RailsAreTimedBesideMessages) {
  for (const std::vector<int>& latencies : {std::vector{1, 1}, {1, 5}, {30, 1}, {1, 30}})
    for (const char* rate : {"1GB/s", "12.5GB/s"})
      EXPECT_EQ(counters_of(latencies, rate, 0).rails_timed, 12u)
          << "three times by each rank, " << latencies[0] << " and " << latencies[1] << " us, " << rate;
}

TEST(UnlikeLatencies, OneRailAloneIsNot) {
  const RailCounters counters = counters_of({1}, "1GB/s", 0);
  EXPECT_EQ(counters.rails_timed, 0u);
  EXPECT_LE(others(counters), 6);
}

TEST(UnlikeLatencies, FewMessagesTimeNothing) {
  EXPECT_EQ(counters_of({1, 5}, "1GB/s", 0, 50).rails_timed, 0u);
}

// Where each packet more may cost an interrupt.
TEST(UnlikeLatencies, AThreadThatGoesOnTimesNothing) {
  const RailCounters counters = counters_of({1, 5}, "1GB/s", 0, many_rounds, "interrupt");
  EXPECT_EQ(counters.rails_timed, 0u);
  EXPECT_LE(others(counters), 12);
}

// Who computes finds late that a packet was done, and gives up for long.
TEST(UnlikeLatencies, ComputingTellsNothingOfRails) {
  const RailCounters counters = counters_of({1, 5}, "1GB/s", 100);
  EXPECT_EQ(counters.rails_timed, 0u);
  EXPECT_GE(others(counters), 12);
  EXPECT_LE(others(counters), 30);
}

}  // namespace
}  // namespace hawser
