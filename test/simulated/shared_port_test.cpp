// Two processes of a node that send to two of another one: each has half of the port, whatever engines it
// has, and who is alone there has as many engines as do it good. In virtual time.
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "testbed/simulator/simulation.h"

namespace hawser {
namespace {

enum class Senders { both, first };

// Microseconds of a window of 64 messages, of each sender.
struct WindowTimes {
  double first = 0, second = 0;
};

class Pairs {
 public:
  explicit Pairs(SimulatedRank& rank) : rank_(rank), data_(bytes) {}

  // The longest of both ends, after a warm-up.
  WindowTimes windows(Senders senders) {
    constexpr int warm_up = 10, rounds = 10;
    MPI_Barrier(MPI_COMM_WORLD);
    double times[2] = {};
    if (const int pair = rank_.rank() % 2; senders == Senders::both || pair == 0) {
      double begin = 0;
      for (int i = 0; i < warm_up + rounds; ++i) {
        if (i == warm_up) begin = MPI_Wtime();
        window();
      }
      times[pair] = (MPI_Wtime() - begin) / rounds * 1e6;
    }
    MPI_Allreduce(MPI_IN_PLACE, times, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return {times[0], times[1]};
  }

 private:
  static constexpr int bytes = 65536;

  void window() {
    const int peer = (rank_.rank() + 2) % 4;
    const bool sends = rank_.rank() < 2;
    std::vector<MPI_Request> requests(64);
    for (MPI_Request& request : requests)
      sends ? MPI_Isend(data_.data(), bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD, &request)
            : MPI_Irecv(data_.data(), bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD, &request);
    MPI_Waitall(64, requests.data(), MPI_STATUSES_IGNORE);
    char done = 0;
    sends ? MPI_Recv(&done, 1, MPI_BYTE, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
          : MPI_Send(&done, 1, MPI_BYTE, peer, 1, MPI_COMM_WORLD);
  }

  SimulatedRank& rank_;
  std::vector<char> data_;
};

// One after the other.
std::vector<WindowTimes> times_of(const std::string& adapter, const char* engines, int rails,
                                  const std::vector<Senders>& turns) {
  SimulationOptions options{.ranks = 4, .ranks_per_node = 2};
  options.fabric =
      FabricOptions{.topology = "single-switch", .rails = rails, .ranks_per_host = 2, .parameters = adapter};
  options.knobs = {{"HAWSER_RAIL_ENGINES", engines}};
  std::vector<WindowTimes> times(turns.size());
  const SimulationOutcome outcome = Simulation(options).run([&](SimulatedRank& self) {
    MPI_Init(nullptr, nullptr);
    Pairs pairs(self);
    for (std::size_t i = 0; i < turns.size(); ++i) {
      const WindowTimes found = pairs.windows(turns[i]);
      if (self.rank() == 0) times[i] = found;
    }
    MPI_Finalize();
  });
  EXPECT_TRUE(outcome.finished()) << outcome.report;
  for (const WindowTimes& each : times)
    std::printf("%s engines: %.1f and %.1f us a window\n", engines, each.first, each.second);
  return times;
}

const std::string by_bus = "link-rate 884MB/s chunk 4K link-latency 2700ns bus half bus-rate 943MB/s";
const std::string by_link = "link-rate 1GB/s chunk 4K link-latency 1us";
const std::string by_engine =
    by_link + " send-engines 4 send-engine-rate 600MB/s " + "receive-engines 4 receive-engine-rate 600MB/s";

// Each found that a second queue pair brings more, for it took from the other: up to a third.
TEST(SharedPort, EachOfTwoProcessesHasHalfOfIt) {
  for (const std::string& adapter : {by_bus, by_link, by_engine})
    for (const int rails : {1, 2}) {
      const WindowTimes times = times_of(adapter, "auto", rails, {Senders::both}).front();
      EXPECT_LE(std::max(times.first, times.second), 1.05 * std::min(times.first, times.second))
          << adapter << ", " << rails << " rails";
    }
}

TEST(SharedPort, WhoIsAloneThereHasSeveralEngines) {
  const std::vector<Senders> turns = {Senders::first, Senders::both, Senders::first};
  const auto times = times_of(by_engine, "auto", 1, turns), one = times_of(by_engine, "1", 1, turns);
  EXPECT_LE(times[0].first, 0.7 * one[0].first);
  EXPECT_LE(times[2].first, 0.7 * one[2].first) << "again, when the other one rests";
  EXPECT_LE(std::max(times[1].first, times[1].second), 1.02 * std::max(one[1].first, one[1].second));
  EXPECT_LE(std::max(times[1].first, times[1].second), 1.05 * std::min(times[1].first, times[1].second));
}

}  // namespace
}  // namespace hawser
