// ProcessSlot: where the entry points of binding/ find the MpiProcess they act on. A real process has one
// slot; the simulator has one per simulated rank and says at each switch of fibers which is current.
// The pointer to the current slot is the only mutable global of the library (decision 1).
#pragma once

#include <atomic>
#include <memory>

#include "process/environment.h"
#include "process/mpi_process.h"

namespace hawser {

struct ProcessSlot {
  // Where the process is between MPI_Init and MPI_Finalize, as MPI_Initialized and MPI_Finalized tell it
  // (they may be called at any time, by any thread). Sessions do not count here.
  std::atomic<bool> initialized{false};
  std::atomic<bool> finalized{false};

  // Set before the first call to run elsewhere than on the machine itself; else the machine's is made.
  Environment* environment = nullptr;

  // The process while messages can be sent: between init and finalize, or while a session is open. Null
  // otherwise. This is what an entry point reads first.
  MpiProcess* running = nullptr;
  // The same, unless it has lanes for threads: calls that look there first read only this if there are none.
  MpiProcess* running_without_lanes = nullptr;
  void set_running(MpiProcess* process) {
    running = process;
    running_without_lanes = process != nullptr && !process->has_lanes() ? process : nullptr;
  }

  // The process whether running or not: made when first needed, for the calls that are allowed before
  // MPI_Init and after MPI_Finalize (MPI-5.0 section 11.4.1). Ends the job with a message if the
  // environment is unusable (a malformed knob).
  MpiProcess& process();

  ~ProcessSlot();

 private:
  friend class MpiProcess;
  std::unique_ptr<Environment> own_environment_;
  std::unique_ptr<MpiProcess> process_;
};

namespace detail {
// Said to be hidden because compilers take a variable from elsewhere for one of another library.
[[gnu::visibility("hidden")]] extern ProcessSlot* current_slot;
}  // namespace detail

inline ProcessSlot& current_slot() { return *detail::current_slot; }
// For the simulator; null means the slot of the real process. Returns the former slot.
ProcessSlot* switch_slot(ProcessSlot* slot);

}  // namespace hawser
