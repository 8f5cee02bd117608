// ToolInterface: the state of MPI_T in one process (MPI-5.0 chapter 15): how often it was initialized, and
// the handles, sessions and registrations that tools hold. It may be used before MPI_Init and after
// MPI_Finalize; what is counted then is 0. No error handler hears of its mistakes: every call answers a code.
//
// Threads: used under the process's lock.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "mpi_t/control_variables.h"
#include "mpi_t/performance_variables.h"
#include "mpi_t/tool_events.h"

namespace hawser {

struct ToolCategory {
  std::string name;
  std::string description;
  std::vector<int> controls;
  std::vector<int> performances;
  std::vector<int> events;
  std::vector<int> categories;  // inside this one
};

class ToolInterface {
 public:
  explicit ToolInterface(Knobs& knobs);

  void initialize() { ++initialized_; }
  // The last one frees what tools did not.
  ToolCode finalize();
  bool initialized() const { return initialized_ > 0; }

  ControlVariables& controls() { return controls_; }
  const std::vector<PerformanceVariable>& performances() const { return performances_; }
  const std::vector<ToolCategory>& categories() const { return categories_; }
  ToolEvents& events() { return events_; }

  // Handles are addresses; find_* answer null for anything that is none.
  void* add_control_handle(int index);
  const int* find_control(const void* handle) const;  // the variable's index
  ToolCode free_control(const void* handle);

  struct Session {
    std::vector<std::unique_ptr<PerformanceHandle>> handles;

    PerformanceHandle* find(const void* handle) const;
    ToolCode free(const void* handle);
  };
  Session& add_session();
  Session* find_session(const void* session) const;
  ToolCode free_session(const void* session);

 private:
  void sort_into_categories();

  int initialized_ = 0;
  ControlVariables controls_;
  std::vector<PerformanceVariable> performances_;
  std::vector<ToolCategory> categories_;
  ToolEvents events_;
  std::vector<std::unique_ptr<int>> control_handles_;
  std::vector<std::unique_ptr<Session>> sessions_;
};

}  // namespace hawser
