// Simulation: an MPI job whose ranks are fibers of one thread, in virtual time. The ranks run the
// production library over a network of declared cost, or over the virtual fabric. A run depends on nothing
// but its inputs: same options, same program, same trace hash.
//
//   Simulation simulation({.ranks = 256, .seed = 7});
//   SimulationOutcome outcome = simulation.run([](SimulatedRank& rank) { MPI_Init(nullptr, nullptr); ... });
//
// Computing costs nothing unless a body says rank.compute(ns); MPI_Wtime shows virtual time. A body is
// entered once per rank, all in one address space: it must not use mutable globals. When the job ends before
// a body does (deadlock, MPI_Abort, an exception), that body stays where it is and its objects are not
// destroyed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "os/fiber.h"
#include "testbed/simulator/fabric_options.h"
#include "testbed/simulator/network_cost.h"
#include "testbed/simulator/rank_processes.h"

namespace hawser {

// Hears which rank's fiber runs.
class RankSwitch {
 public:
  virtual void enter(int rank) = 0;
  virtual void leave(int rank) = 0;

 protected:
  ~RankSwitch() = default;
};

namespace fabric {
class Fabric;
}

// What an observer gets to see of a running job.
struct SimulationView {
  Nanoseconds now = 0;
  std::uint64_t events = 0;
  int finished = 0;                        // ranks
  const fabric::Fabric* fabric = nullptr;  // null: there is none
  bool over = false;                       // the last time
};

// Looks at a job now and then; changes nothing of it.
class SimulationObserver {
 public:
  // Called when virtual time has reached `next_time`, every 65,536 events, and at the end.
  virtual void observe(const SimulationView& view) = 0;
  Nanoseconds next_time = never;

 protected:
  ~SimulationObserver() = default;
};

// A job that goes on without ranks that fail, as with mpiexec --survive.
struct SimulatedSurvival {
  struct Kill {
    int rank = 0;
    Nanoseconds at = 0;  // after all ranks have joined
  };
  std::vector<Kill> kills;                     // none of a rank that leaves MPI, nor of the last one
  Nanoseconds news_after = 100 * microsecond;  // at most, until a rank hears of a failure
  // From a report of a rank that cannot reach another until it is decided who goes (launch/unreachable.h).
  Nanoseconds reporting_time = 10 * millisecond;
};

struct SimulationOptions {
  int ranks = 2;
  std::uint64_t seed = 1;
  NetworkCost model;
  int ranks_per_node = 1;  // blocks of neighbouring ranks; only the cost differs
  // What the ranks of a node share for collectives costs this; none: they share nothing, and use messages.
  std::optional<AreaCost> areas;
  // Ranks of different hosts talk over the adapters of a virtual fabric, and a node is a host of it.
  std::optional<FabricOptions> fabric;
  std::vector<std::pair<std::string, std::string>> knobs;  // as in the environment: {"HAWSER_STATS", "on"}
  std::size_t stack_bytes = Fiber::default_stack_bytes;
  std::string trace_file;  // empty: none
  RankSwitch* rank_switch = nullptr;
  RankProcesses* processes = nullptr;         // null: all ranks run in this process
  std::optional<SimulatedSurvival> survival;  // none: a rank that fails ends the job
  SimulationObserver* observer = nullptr;
  Nanoseconds time_limit = never;      // of virtual time; reaching it is an outcome
  std::uint32_t restless_paths = 0;    // as in RailSettings
  std::int32_t bundles_behind = 4;     // the same
  Nanoseconds peer_rest = 5 * second;  // the same
  std::uint64_t vain_polls =
      20'000'000;  // passes that find nothing, while nothing is on its way, before it is a livelock
};

struct SimulationOutcome {
  enum class Kind : std::uint8_t {
    finished,  // every body returned, but for those of ranks that were killed
    deadlock,  // nothing will happen any more, and bodies have not returned
    livelock,  // ranks poll for what will never come
    time_limit,
    aborted,      // MPI_Abort, or a fatal error
    exception,    // out of a body
    bad_options,  // a malformed knob, an unknown topology, a trace file that cannot be written
  };
  Kind kind = Kind::finished;
  int exit_code = 0;                // of MPI_Abort
  std::string report;               // what happened, with a line for each rank that did not finish
  std::vector<std::string> output;  // what ranks printed through their host: diagnoses
  std::uint64_t trace_hash = 0;
  Nanoseconds virtual_time = 0;
  std::uint64_t events = 0;
  std::uint64_t messages = 0;
  std::int64_t bytes = 0;
  // With a fabric: of all ranks together; and for how long after the last incident the last body ran.
  RailCounters rails;
  std::uint64_t payload_bytes = 0, repeated_bytes = 0;  // sent by adapters; of these, sent before
  // How often a rank went on computing until an interrupt comes, while a completion that is to interrupt it
  // had come before: it is found late, or never.
  std::uint64_t overslept = 0;
  Nanoseconds finish_time = 0;  // of the last body
  std::vector<int> killed;      // ranks, in this order
  int incidents = 0;
  Nanoseconds time_after_incidents = 0;

  bool finished() const { return kind == Kind::finished; }
};

const char* name_of(SimulationOutcome::Kind kind);
// One line: kind, ranks, seed, trace hash, virtual time, messages.
std::string summary(const SimulationOptions& options, const SimulationOutcome& outcome);

// What a body knows of the simulation it runs in.
class SimulatedRank {
 public:
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual Nanoseconds now() = 0;
  // The same, where asking takes no time.
  virtual Nanoseconds local_time() const = 0;
  // Spends processor time.
  virtual void compute(Nanoseconds duration) = 0;
  // The same, but the processor is free: what the library does meanwhile takes no time of it.
  virtual void sleep(Nanoseconds duration) = 0;
  virtual std::string host_name() const = 0;
  // Ends the job with this exit code; `report` says why.
  [[noreturn]] virtual void end_job(int code, std::string report) = 0;

 protected:
  ~SimulatedRank() = default;
};

class Simulation {
 public:
  using Body = std::function<void(SimulatedRank&)>;

  explicit Simulation(SimulationOptions options);
  // The job's failure, if it failed, is in the outcome; runs may be repeated.
  SimulationOutcome run(const Body& body);

 private:
  SimulationOptions options_;
};

}  // namespace hawser
