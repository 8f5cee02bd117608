#include "testbed/simulator/simulation.h"

#include <fmt/format.h>

#include <utility>

#include "base/assert.h"
#include "testbed/simulator/simulated_job.h"

namespace hawser {

const char* name_of(SimulationOutcome::Kind kind) {
  switch (kind) {
    case SimulationOutcome::Kind::finished:
      return "finished";
    case SimulationOutcome::Kind::deadlock:
      return "deadlock";
    case SimulationOutcome::Kind::livelock:
      return "livelock";
    case SimulationOutcome::Kind::time_limit:
      return "time limit";
    case SimulationOutcome::Kind::aborted:
      return "aborted";
    case SimulationOutcome::Kind::exception:
      return "exception";
    case SimulationOutcome::Kind::bad_options:
      return "bad options";
  }
  HAWSER_UNREACHABLE();
}

std::string summary(const SimulationOptions& options, const SimulationOutcome& outcome) {
  return fmt::format("{}: {} ranks, seed {}, trace {:016x}, {:.3f} us virtual, {} messages, {} events",
                     name_of(outcome.kind), options.ranks, options.seed, outcome.trace_hash,
                     static_cast<double>(outcome.virtual_time) / 1000.0, outcome.messages, outcome.events);
}

Simulation::Simulation(SimulationOptions options) : options_(std::move(options)) {}

SimulationOutcome Simulation::run(const Body& body) {
  SimulatedJob job(options_, body);
  return job.run();
}

}  // namespace hawser
