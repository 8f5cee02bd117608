// Four paths between two ports, of which the first goes over a link with a tenth or a fifth of the ports'
// rate: messages find another one, and none takes much longer than without that link. In virtual time.
#include <gtest/gtest.h>
#include <mpi.h>

#include <cstdio>
#include <string>
#include <vector>

#include "testbed/simulator/simulation.h"

namespace hawser {
namespace {

constexpr int peer = 12;  // of rank 0: the first one of the second leaf

void ping_pong(int rank, int bytes, std::vector<char>& out, std::vector<char>& in) {
  const auto send = [&] { MPI_Send(out.data(), bytes, MPI_BYTE, peer - rank, 0, MPI_COMM_WORLD); };
  if (rank == 0) send();
  MPI_Recv(in.data(), bytes, MPI_BYTE, peer - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank == peer) send();
}

void window(int rank, int bytes, std::vector<char>& out, std::vector<char>& in) {
  std::vector<MPI_Request> requests(64);
  for (MPI_Request& request : requests)
    rank == 0 ? MPI_Isend(out.data(), bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD, &request)
              : MPI_Irecv(in.data(), bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &request);
  MPI_Waitall(64, requests.data(), MPI_STATUSES_IGNORE);
  char done = 0;
  rank == 0 ? MPI_Recv(&done, 1, MPI_BYTE, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
            : MPI_Send(&done, 1, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
}

using Round = void (*)(int rank, int bytes, std::vector<char>& out, std::vector<char>& in);

struct Outcome {
  double time = 0;              // of a round, in microseconds
  std::uint64_t on_demand = 0;  // connections, both ends
};

// `rate`: in MB/s, of the links that the first paths of the two take, each way.
Outcome outcome_of(Round round, int bytes, int rate, const char* paths = "auto") {
  SimulationOptions options{.ranks = peer + 1};
  options.knobs = {{"HAWSER_RAIL_PATHS", paths}};
  options.fabric = FabricOptions{.topology = "fat-tree-144", .rails = 1};
  std::string& parameters = options.fabric->parameters;
  parameters = "link-rate 1GB/s chunk 4K lmc 2 link-latency 100ns\n";
  for (const char* link : {"LEAF00:13", "LEAF01:13"})
    if (rate != 0) parameters += "link " + std::string(link) + " rate " + std::to_string(rate) + "MB/s\n";
  options.fabric->cost.registration = 0;
  options.fabric->cost.post = options.fabric->cost.completion = 250;
  options.time_limit = 60 * second;
  Outcome found;
  const SimulationOutcome outcome = Simulation(options).run([&](SimulatedRank& self) {
    MPI_Init(nullptr, nullptr);
    std::vector<char> out(static_cast<std::size_t>(bytes)), in(static_cast<std::size_t>(bytes));
    constexpr int warm_up = 40, rounds = 20;
    double begin = 0;
    for (int i = 0; i < warm_up + rounds; ++i) {
      if (i == warm_up) begin = MPI_Wtime();
      if (self.rank() == 0 || self.rank() == peer) round(self.rank(), bytes, out, in);
    }
    if (self.rank() == 0) found.time = (MPI_Wtime() - begin) / rounds * 1e6;
    MPI_Finalize();
  });
  EXPECT_TRUE(outcome.finished()) << outcome.report;
  found.on_demand = outcome.rails.connections_on_demand;
  return found;
}

void expect_no_loss(const char* name, Round round, const std::vector<int>& sizes, double most) {
  for (const int bytes : sizes) {
    const Outcome alone = outcome_of(round, bytes, 0);
    EXPECT_EQ(alone.on_demand, 0u) << name << " of " << bytes << " bytes: there is nothing to look for";
    for (const int rate : {100, 200}) {
      const double time = outcome_of(round, bytes, rate).time;
      std::printf("%s of %d bytes, a path of %d MB/s: %.1f us, without %.1f\n", name, bytes, rate, time,
                  alone.time);
      EXPECT_LE(time, most * alone.time) << name << " of " << bytes << " bytes, " << rate << " MB/s";
    }
  }
}

TEST(SlowPath, IsTheFirst) {
  EXPECT_GE(outcome_of(ping_pong, 4096, 100, "1").time, 5 * outcome_of(ping_pong, 4096, 0, "1").time)
      << "or this shows nothing";
}

TEST(SlowPath, IsLeftByPingPong) {
  expect_no_loss("ping-pong", ping_pong, {4096, 8192, 16384, 32768, 65536}, 1.02);
}

TEST(SlowPath, IsLeftByWindows) { expect_no_loss("window", window, {4096, 8192, 16384, 32768, 65536}, 1.06); }

}  // namespace
}  // namespace hawser
