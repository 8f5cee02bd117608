// All adapters of a job fail at the same time and come back, as after a restart of their driver on all nodes.
// Each process has new addresses then, and knows only old ones of the others, so they find each other by way
// of the launcher.
#include <gtest/gtest.h>
#include <mpi.h>

#include <string>
#include <vector>

#include "base/time.h"
#include "testbed/simulator/simulation.h"

namespace hawser {
namespace {

constexpr int rounds = 200;

void exchange(SimulatedRank& self) {
  constexpr int bytes = 128 << 10;
  const auto count = static_cast<std::size_t>(bytes);
  const int to = (self.rank() + 1) % self.size(), from = (self.rank() + self.size() - 1) % self.size();
  for (int round = 0; round < rounds; ++round) {
    std::vector<char> sent(count, static_cast<char>(round + self.rank())), received(count);
    MPI_Sendrecv(sent.data(), bytes, MPI_BYTE, to, round, received.data(), bytes, MPI_BYTE, from, round,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    ASSERT_EQ(received, std::vector<char>(count, static_cast<char>(round + from)));
  }
}

// Dead from 5 ms on; the adapters of each host come back some time after those of the one before.
std::string all_fail(int hosts, int rails, Nanoseconds apart) {
  std::string faults;
  for (int host = 0; host < hosts; ++host)
    for (int rail = 0; rail < rails; ++rail) {
      const std::string adapter = "adapter n" + std::to_string(host) + "/hw" + std::to_string(rail);
      faults += "5ms " + adapter + " dead\n";
      faults += std::to_string(30'000 + host * apart / microsecond) + "us " + adapter + " alive\n";
    }
  return faults;
}

TEST(AllAdapters, FailAtTheSameTimeAndTheJobGoesOn) {
  for (const int hosts : {2, 4})
    for (const int rails : {1, 2})
      for (const Nanoseconds apart : {0 * millisecond, 3 * millisecond, 100 * millisecond}) {
        SimulationOptions options{.ranks = hosts, .time_limit = 20 * second};
        options.fabric.emplace();
        options.fabric->rails = rails;
        options.fabric->parameters = "link-rate 100MB/s\n";
        options.fabric->faults = all_fail(hosts, rails, apart);
        const SimulationOutcome outcome = Simulation(options).run([](SimulatedRank& self) {
          MPI_Init(nullptr, nullptr);
          exchange(self);
          MPI_Finalize();
        });
        ASSERT_TRUE(outcome.finished()) << hosts << ' ' << rails << ' ' << apart << '\n' << outcome.report;
        EXPECT_EQ(outcome.rails.adapters_reopened, static_cast<std::uint64_t>(hosts * rails));
        // All messages take 270 ms without faults.
        const Nanoseconds back = 30 * millisecond + (hosts - 1) * apart;
        EXPECT_LT(outcome.virtual_time - back, 700 * millisecond);
      }
}

}  // namespace
}  // namespace hawser
