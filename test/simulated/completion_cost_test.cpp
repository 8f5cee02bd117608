// When a simulated rank pays for the completions that came while it computed: in its next pass, and so not
// before what it sends first.
#include <gtest/gtest.h>
#include <mpi.h>

#include "connected.h"
#include "testbed/simulator/simulation.h"

namespace hawser {
namespace {

constexpr int messages = 4;
constexpr Nanoseconds of_completion = 50 * microsecond, computing = 10 * millisecond;

struct Times {
  Nanoseconds computed = 0, sent = 0, answered = 0;
};

void send_and_compute(SimulatedRank& self, Times& times) {
  char byte = 0;
  for (int i = 0; i < messages; ++i) MPI_Send(&byte, 1, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
  const Nanoseconds begin = self.now();
  self.compute(computing);
  const Nanoseconds computed = self.now();
  MPI_Send(&byte, 1, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
  const Nanoseconds sent = self.now();
  MPI_Recv(&byte, 1, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  times = {computed - begin, sent - computed, self.now() - sent};
}

void answer() {
  char byte = 0;
  for (int i = 0; i < messages + 1; ++i)
    MPI_Recv(&byte, 1, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Send(&byte, 1, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
}

TEST(CompletionCost, IsPaidInTheNextPassByARankThatComputed) {
  SimulationOptions options{.ranks = 2};
  options.fabric.emplace();
  options.fabric->cost.completion = of_completion;
  Times times;
  const SimulationOutcome outcome = Simulation(options).run([&](SimulatedRank& self) {
    MPI_Init(nullptr, nullptr);
    connect_with_all();
    MPI_Barrier(MPI_COMM_WORLD);
    self.rank() == 0 ? send_and_compute(self, times) : answer();
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
  });
  ASSERT_TRUE(outcome.finished()) << outcome.report;
  EXPECT_LT(times.computed, computing + of_completion);
  EXPECT_LT(times.sent, of_completion);
  EXPECT_GE(times.answered, messages * of_completion);
}

}  // namespace
}  // namespace hawser
