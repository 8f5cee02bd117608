// ProcessTable: the processes that this one knows, by number. The first ones are those of MPI_COMM_WORLD in
// their order there; processes that come later (MPI_Comm_spawn, MPI_Comm_connect) get the numbers behind
// them. Numbers are this process's own: another process may know the same one by another number.
//
// Nothing above channel/ has a table by the size of MPI_COMM_WORLD; what has one entry a process grows with
// this table.
#pragma once

#include <vector>

#include "base/assert.h"
#include "channel/transport.h"

namespace hawser {

class ProcessTable {
 public:
  static constexpr std::int32_t unknown_node = -1;

  struct Process {
    std::int32_t node = unknown_node;  // equal for processes that share a node
  };

  int size() const { return static_cast<int>(processes_.size()); }
  ProcessIndex add(const Process& process) {
    processes_.push_back(process);
    return static_cast<ProcessIndex>(processes_.size() - 1);
  }
  std::int32_t node_of(ProcessIndex process) const {
    HAWSER_ASSERT(process >= 0 && process < size());
    return processes_[static_cast<std::size_t>(process)].node;
  }

 private:
  std::vector<Process> processes_;
};

}  // namespace hawser
