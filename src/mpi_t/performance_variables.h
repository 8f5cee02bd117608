// The performance variables of MPI_T (MPI-5.0 section 15.3.7): what the process counts anyway, by name.
// Counters can be started, stopped and set back by each handle; levels and marks run on by themselves.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/counted.h"
#include "mpi_t/tool_types.h"

namespace hawser {

class Communicator;
class ToolSource;

struct PerformanceVariable {
  std::string name;
  std::string description;
  int variable_class = tool_class::counter;
  ToolType type = ToolType::number;
  int bind = tool_bind::no_object;
  int verbosity = tool_verbosity::tuner_basic;
  std::uint64_t (*number)(ToolSource& process, const Communicator* communicator) = nullptr;
  double (*real)(ToolSource& process) = nullptr;  // seconds; of timers
  int rail_counter = -1;                          // index in rail_counter_names(), instead of `number`

  // Runs on by itself, and cannot be set back.
  bool continuous() const { return variable_class != tool_class::counter; }
};

// All of them, in the order of their indices.
std::vector<PerformanceVariable> performance_variables();

class PerformanceHandle {
 public:
  PerformanceHandle(const PerformanceVariable& variable, Ref<Communicator> communicator)
      : variable_(variable), communicator_(std::move(communicator)) {}

  const PerformanceVariable& variable() const { return variable_; }
  void start(ToolSource& process);
  void stop(ToolSource& process);
  void read(ToolSource& process, void* buffer) const;
  void set(ToolSource& process, std::uint64_t value);

 private:
  std::uint64_t raw(ToolSource& process) const;
  std::uint64_t value(ToolSource& process) const;

  const PerformanceVariable& variable_;
  Ref<Communicator> communicator_;
  bool started_ = false;
  std::uint64_t counted_ = 0;   // until it was stopped last
  std::uint64_t at_start_ = 0;  // raw, when it was started last
};

}  // namespace hawser
