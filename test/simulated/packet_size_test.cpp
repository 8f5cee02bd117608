// Which messages go at once, without asking their receiver: what fits into a packet, which is longer over
// fast ports, if all processes have them.
#include <gtest/gtest.h>
#include <mpi.h>

#include <string>
#include <vector>

#include "connected.h"
#include "testbed/simulator/simulation.h"

namespace hawser {
namespace {

// How many bytes rank 0 and rank 1 moved in stripes, each for one message of so many bytes.
std::uint64_t bytes_asked_for(const std::string& parameters, int bytes) {
  const auto moved = [&](int messages) {
    SimulationOptions options{.ranks = 2};
    options.fabric = FabricOptions{.topology = "two-switch", .rails = 2};
    options.fabric->parameters = parameters;
    const SimulationOutcome outcome = Simulation(options).run([&](SimulatedRank& self) {
      MPI_Init(nullptr, nullptr);
      connect_with_all();
      std::vector<char> data(static_cast<std::size_t>(bytes), static_cast<char>(self.rank()));
      for (int i = 0; i < messages; ++i) {
        MPI_Sendrecv_replace(data.data(), bytes, MPI_BYTE, 1 - self.rank(), 0, 1 - self.rank(), 0,
                             MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        EXPECT_EQ(data.back(), static_cast<char>((self.rank() + i + 1) % 2));
      }
      MPI_Finalize();
    });
    EXPECT_TRUE(outcome.finished()) << outcome.report;
    return outcome.rails.bytes_striped;
  };
  return (moved(5) - moved(1)) / 8;
}

TEST(PacketSize, IsLargerOverFastPorts) {
  for (const int bytes : {4000, 8000}) EXPECT_EQ(bytes_asked_for("link-rate 1GB/s\n", bytes), 0u) << bytes;
  for (const int bytes : {8192, 12000, 16000, 20000})
    EXPECT_EQ(bytes_asked_for("link-rate 1GB/s\n", bytes), static_cast<std::uint64_t>(bytes));
  for (const int bytes : {4000, 8192, 12000, 16384})
    EXPECT_EQ(bytes_asked_for("link-rate 12.5GB/s\n", bytes), 0u) << bytes;
  for (const int bytes : {16500, 20000})
    EXPECT_EQ(bytes_asked_for("link-rate 12.5GB/s\n", bytes), static_cast<std::uint64_t>(bytes));
}

}  // namespace
}  // namespace hawser
