// Programs with sessions as ranks of the simulator, also over rails: what one process leaves unacknowledged
// when it closes its last session must not hold up the others for ever.
#include <gtest/gtest.h>

#include "session_programs.h"
#include "testbed/simulator/simulation.h"

namespace hawser {
namespace {

void run_all(const SimulationOptions& options) {
  for (const std::string& name : conformance::session_programs()) {
    SCOPED_TRACE(name);
    const SimulationOutcome outcome = Simulation(options).run(
        [&](SimulatedRank&) { EXPECT_EQ(conformance::run_session_program(name), ""); });
    EXPECT_TRUE(outcome.finished()) << outcome.report;
  }
}

TEST(Sessions, OneRank) { run_all({.ranks = 1}); }
TEST(Sessions, FiveRanks) { run_all({.ranks = 5, .seed = 3, .model = {.jitter = 1}}); }
TEST(Sessions, OverRails) {
  SimulationOptions options{.ranks = 4, .seed = 4};
  options.fabric.emplace();
  options.fabric->parameters = "link-latency 1us\n";
  run_all(options);
}

}  // namespace
}  // namespace hawser
