#include "testbed/simulator/simulation.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "base/enum_names.h"
#include "testbed/simulator/simulated_job.h"

namespace hawser {

const char* name_of(SimulationOutcome::Kind kind) {
  static constexpr EnumTexts<SimulationOutcome::Kind> texts{
      {{SimulationOutcome::Kind::finished, "finished"},
       {SimulationOutcome::Kind::deadlock, "deadlock"},
       {SimulationOutcome::Kind::livelock, "livelock"},
       {SimulationOutcome::Kind::time_limit, "time limit"},
       {SimulationOutcome::Kind::aborted, "aborted"},
       {SimulationOutcome::Kind::exception, "exception"},
       {SimulationOutcome::Kind::bad_options, "bad options"}}};
  return texts(kind);
}

std::string summary(const SimulationOptions& options, const SimulationOutcome& outcome) {
  return fmt::format("{}: {} ranks, seed {}, trace {:016x}, {:.3f} us virtual, {} messages, {} events",
                     name_of(outcome.kind), options.ranks, options.seed, outcome.trace_hash,
                     static_cast<double>(outcome.virtual_time) / 1000.0, outcome.messages, outcome.events);
}

Simulation::Simulation(SimulationOptions options) : options_(std::move(options)) {}

SimulationOutcome Simulation::run(const Body& body) {
  auto job = std::make_unique<SimulatedJob>(options_, body);
  SimulationOutcome outcome = job->run();
  // Parts of it may be in the memory of ranks' processes only: nothing of it can be destroyed here.
  if (options_.processes != nullptr) (void)job.release();
  return outcome;
}

}  // namespace hawser
