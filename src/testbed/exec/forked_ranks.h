// ForkedRanks: each rank of a simulated job in a process of its own, for programs that keep state in the C
// library, or elsewhere, that cannot be swapped when the ranks take turns in one process.
//
// The processes are made by fork. They share the simulator's heap (shared_heap.h) and the queues of its
// adapters, so there is one library, one fabric and one queue of events, and whichever process runs works on
// them. Only one runs at a time: the simulator, until an event lets a rank go on; then that rank's process,
// until the rank waits. A job has the same events, times and trace hash as with all ranks in one process.
#pragma once

#include <sys/types.h>

#include <functional>
#include <vector>

#include "os/file_descriptor.h"
#include "testbed/exec/rank_memory.h"
#include "testbed/simulator/rank_processes.h"

namespace hawser {

class ForkedRanks final : public RankProcesses {
 public:
  // `last` is what each process does before it ends.
  ForkedRanks(int ranks, std::function<void(int rank)> last);
  ForkedRanks(const ForkedRanks&) = delete;
  ForkedRanks& operator=(const ForkedRanks&) = delete;

  std::optional<int> resume(int rank, FunctionRef<void()> run) override;
  fabric::DmaPort& memory() override { return memory_; }
  // Ends the processes and waits for them.
  void end();

 private:
  struct Process {
    FileDescriptor line;  // to it
    pid_t number = 0;     // 0: not begun, or ended
  };
  bool start(int rank, FunctionRef<void()> run);
  [[noreturn]] void live(int rank, FunctionRef<void()> run, int line);

  RankMemory memory_;
  std::function<void(int)> last_;
  std::vector<Process> processes_;
};

}  // namespace hawser
