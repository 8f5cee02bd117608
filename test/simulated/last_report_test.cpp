// A sender asks now and then how much memory its eager messages take at the receiver
// (message/eager_window.h). When a message of the barrier of MPI_Finalize is the one that asks, the answer
// comes to a process that has left.
#include <gtest/gtest.h>
#include <mpi.h>

#include "testbed/simulator/simulation.h"

namespace hawser {
namespace {

TEST(LastReport, MayComeToAProcessThatHasLeft) {
  for (int messages = 0; messages < 200; ++messages) {
    SimulationOptions options;
    options.ranks = 2;
    options.fabric.emplace();
    options.knobs = {{"HAWSER_UNEXPECTED_BYTES", "64K"}};
    const SimulationOutcome outcome = Simulation(options).run([&](SimulatedRank& self) {
      MPI_Init(nullptr, nullptr);
      char byte = 0;
      for (int i = 0; i < messages; ++i) {
        if (self.rank() == 0) MPI_Send(&byte, 1, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
        if (self.rank() == 1) MPI_Recv(&byte, 1, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      }
      MPI_Finalize();
    });
    ASSERT_TRUE(outcome.finished()) << messages << " messages: " << outcome.report;
  }
}

}  // namespace
}  // namespace hawser
