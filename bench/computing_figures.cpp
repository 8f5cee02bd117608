// Figures 4 to 7 of S06 (Sur et al., RDMA Read Based Rendezvous Protocol for MPI over InfiniBand) in the
// simulator, with the network of that paper: one rail of 900 MB/s, interrupts of 18 us. Prints JSON, which
// bench/computing takes.
#include <mpi.h>

#include <cstdio>
#include <string>
#include <vector>

#include "neighbour_exchange.h"
#include "testbed/simulator/simulation.h"

namespace {

using hawser::Nanoseconds;

constexpr Nanoseconds interrupt = 18 * hawser::microsecond;

struct Scheme {
  const char *name, *rendezvous, *progress;
};
constexpr Scheme schemes[] = {
    {"write", "write", "polling"}, {"read", "read", "polling"}, {"interrupt", "read", "interrupt"}};

hawser::SimulationOptions options_of(const Scheme& scheme, int ranks) {
  hawser::SimulationOptions options{.ranks = ranks};
  options.fabric.emplace();
  options.fabric->topology = "single-switch";
  options.fabric->rails = 1;
  options.fabric->parameters = "link-rate 900MB/s\nlink-latency 1us\n";
  options.fabric->cost.registration = 0;  // what is sent is sent again
  options.fabric->cost.interrupt = interrupt;
  options.knobs = {{"HAWSER_RAIL_RENDEZVOUS", scheme.rendezvous}, {"HAWSER_PROGRESS", scheme.progress}};
  return options;
}

// The time at the computing rank from its MPI_Isend or MPI_Irecv to the end of its MPI_Wait, of the mean
// round. The other one is in MPI_Recv or MPI_Send.
double overlapped(const Scheme& scheme, int bytes, int computing, Nanoseconds computation) {
  constexpr int first_rounds = 10, rounds = 20;
  double total = 0;
  const auto outcome = hawser::Simulation(options_of(scheme, 2)).run([&](hawser::SimulatedRank& self) {
    MPI_Init(nullptr, nullptr);
    std::vector<char> data(static_cast<std::size_t>(bytes));
    for (int round = -first_rounds; round < rounds; ++round) {
      MPI_Barrier(MPI_COMM_WORLD);
      const double begin = MPI_Wtime();
      MPI_Request request;
      if (self.rank() == 0)
        MPI_Isend(data.data(), bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &request);
      else
        MPI_Irecv(data.data(), bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &request);
      if (self.rank() == computing) self.compute(computation);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      if (self.rank() == computing && round >= 0) total += MPI_Wtime() - begin;
    }
    MPI_Finalize();
  });
  if (!outcome.finished()) std::fprintf(stderr, "%s\n", outcome.report.c_str());
  return total * 1e6 / rounds;
}

// Up to twice as long as the message takes; figure 6 has 1500 us.
std::vector<double> computations(int bytes) {
  std::vector<double> found;
  for (int step = 1; step <= 12; ++step) found.push_back(step * static_cast<double>(bytes) / (1 << 20) * 200);
  if (bytes == 1 << 20) found.insert(found.begin() + 7, 1500);
  return found;
}

void print_overlap() {
  const char* separator = "";
  std::printf("{\"interrupt_us\": %.1f, \"overlap\": [", static_cast<double>(interrupt) / 1e3);
  for (const int bytes : {64 << 10, 256 << 10, 1 << 20})
    for (const int computing : {0, 1})
      for (const double microseconds : computations(bytes)) {
        std::printf("%s\n  {\"bytes\": %d, \"computes\": \"%s\", \"computation_us\": %.1f", separator, bytes,
                    computing == 0 ? "sender" : "receiver", microseconds);
        for (const Scheme& scheme : schemes)
          std::printf(", \"%s\": %.2f", scheme.name,
                      overlapped(scheme, bytes, computing, static_cast<Nanoseconds>(microseconds * 1e3)));
        std::printf("}");
        separator = ",";
      }
  std::printf("],\n");
}

void print_exchange() {
  const char* separator = "";
  std::printf("\"exchange\": [");
  for (const int side : {2, 4, 6}) {
    std::printf("%s\n  {\"ranks\": %d", separator, side * side);
    for (const Scheme& scheme : schemes) {
      const auto times = hawser::neighbour_exchange::run(side, options_of(scheme, side * side));
      if (!times.failure.empty()) std::fprintf(stderr, "%s\n", times.failure.c_str());
      std::printf(", \"%s\": {\"waited_ms\": %.3f, \"whole_ms\": %.3f}", scheme.name, times.waited * 1e3,
                  times.whole * 1e3);
    }
    std::printf("}");
    separator = ",";
  }
  std::printf("]}\n");
}

}  // namespace

int main() {
  print_overlap();
  print_exchange();
}
