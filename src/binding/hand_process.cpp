// Starting and ending, which happen where there is no running process to find, and the clock.
#include "base/failure.h"
#include "binding/hand.h"
#include "process/start_stop.h"

namespace hawser::binding {
namespace {

int start(const char* function, int required, int* provided) try {
  ProcessSlot& slot = current_slot();
  int level = thread_single;
  const Result<> result = initialize(slot, abi_hooks(), to_core_thread_level(required), level);
  if (!result) return from_core_error_code(slot.process().report({}, function, result.error()));
  if (provided != nullptr) *provided = from_core_thread_level(level);
  return MPI_SUCCESS;
} catch (const std::bad_alloc& error) {
  out_of_memory(function, error);
}

double seconds(Nanoseconds time) { return static_cast<double>(time) * 1e-9; }

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

int PMPI_Init(int*, char***) noexcept { return start("MPI_Init", MPI_THREAD_SINGLE, nullptr); }

int PMPI_Init_thread(int*, char***, int required, int* provided) noexcept {
  return start("MPI_Init_thread", required, provided);
}

int PMPI_Finalize() noexcept try {
  ProcessSlot& slot = current_slot();
  Entry entry("MPI_Finalize");
  if (!entry.running()) return entry.not_running();
  const Result<> result = finalize(slot);
  return result ? MPI_SUCCESS : entry.fail(nullptr, result.error());
} catch (const std::bad_alloc& error) {
  out_of_memory("MPI_Finalize", error);
}

int PMPI_Initialized(int* flag) noexcept {
  if (flag == nullptr) return null_output("MPI_Initialized", "flag");
  *flag = current_slot().initialized;
  return MPI_SUCCESS;
}

int PMPI_Finalized(int* flag) noexcept {
  if (flag == nullptr) return null_output("MPI_Finalized", "flag");
  *flag = current_slot().finalized;
  return MPI_SUCCESS;
}

int PMPI_Abort(MPI_Comm, int errorcode) noexcept {
  // Without the lock: another thread may hold it while it waits for a message that never comes.
  current_slot().process().abort(errorcode, fmt::format("called MPI_Abort with error code {}", errorcode));
}

double PMPI_Wtime() noexcept {
  ProcessSlot& slot = current_slot();
  MpiProcess& process = slot.running != nullptr ? *slot.running : slot.process();
  return seconds(process.now());
}

double PMPI_Wtick() noexcept { return 1e-9; }

int PMPI_Pcontrol(const int, ...) noexcept { return MPI_SUCCESS; }

}  // extern "C"

HAWSER_ALIAS(Init);
HAWSER_ALIAS(Init_thread);
HAWSER_ALIAS(Finalize);
HAWSER_ALIAS(Initialized);
HAWSER_ALIAS(Finalized);
HAWSER_ALIAS(Abort);
HAWSER_ALIAS(Wtime);
HAWSER_ALIAS(Wtick);
HAWSER_ALIAS(Pcontrol);

#pragma GCC visibility pop
}  // namespace hawser::binding
