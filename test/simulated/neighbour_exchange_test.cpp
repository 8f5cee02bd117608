// MPI_Wait polling and with interrupts, where ranks compute while their neighbours' bytes are under way.
#include "neighbour_exchange.h"

#include <gtest/gtest.h>

#include <cstdio>

namespace hawser {
namespace {

neighbour_exchange::Times run(const char* rendezvous, const char* progress) {
  constexpr int side = 2;
  SimulationOptions options{.ranks = side * side};
  options.fabric.emplace();
  options.fabric->parameters = "link-rate 1GB/s\n";
  options.fabric->cost.registration = 0;  // the buffers stay what they are
  options.knobs = {{"HAWSER_RAIL_RENDEZVOUS", rendezvous}, {"HAWSER_PROGRESS", progress}};
  const neighbour_exchange::Times times = neighbour_exchange::run(side, options);
  EXPECT_EQ(times.failure, "");
  std::printf("%-5s %-9s: in MPI_Wait %7.3f ms a rank, whole %7.3f ms\n", rendezvous, progress,
              times.waited * 1e3, times.whole * 1e3);
  return times;
}

TEST(NeighbourExchange, WaitsLessWithInterrupts) {
  const auto write = run("write", "polling"), read = run("read", "polling");
  const auto interrupts = run("read", "interrupt");
  EXPECT_LE(interrupts.waited, 0.72 * write.waited) << "as S06 compares";
  EXPECT_LE(interrupts.waited, 0.72 * read.waited);
  EXPECT_LT(interrupts.whole, read.whole);
}

}  // namespace
}  // namespace hawser
