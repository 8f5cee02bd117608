// What MPI_Init, MPI_Init_thread, MPI_Finalize and MPI_Abort do (MPI-5.0 section 11.2 to 11.4); their entry
// points are written by hand in binding/, because there is no running process to find at their beginning.
#pragma once

#include "base/result.h"
#include "process/abi_hooks.h"
#include "process/process_slot.h"

namespace hawser {

// `required` and `provided` are thread levels in the standard ABI's numbers. A second call, and a call after
// finalize, are errors. Called without the process's lock, which does not exist yet.
Result<> initialize(ProcessSlot& slot, const AbiHooks& hooks, int required, int& provided);

// Deletes the attributes of MPI_COMM_SELF first, newest first; their callbacks may still use MPI. Collective
// over the job; leaves it unless a session is open. Called with the lock.
Result<> finalize(ProcessSlot& slot);

// Leaves the job when the program is about to end and only sessions were in it, which are closed; does
// nothing otherwise. Collective over the job. Called without the lock.
Result<> leave_job(ProcessSlot& slot);
// The same for Host::call_at_exit.
void leave_job_at_exit();
// For Host::call_in_children.
void become_copy_in_child();

}  // namespace hawser
