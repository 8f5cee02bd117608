#include "process/start_stop.h"

#include "base/failure.h"

namespace hawser {

Result<> initialize(ProcessSlot& slot, const AbiHooks& hooks, int required, int& provided) {
  if (slot.finalized) return failure(ErrorClass::other, "MPI cannot be initialized again after MPI_Finalize");
  if (slot.initialized) return failure(ErrorClass::other, "MPI has been initialized before");
  if (required != thread_single && required != thread_funneled && required != thread_serialized &&
      required != thread_multiple)
    return failure(ErrorClass::arg, "{} is not a thread level", required);
  MpiProcess& process = slot.process();
  process.set_hooks(hooks);
  HAWSER_TRY(process.start(required));
  provided = process.thread_level();
  slot.initialized = true;
  return {};
}

Result<> finalize(ProcessSlot& slot) {
  if (!slot.initialized) return failure(ErrorClass::other, "MPI is not initialized");
  if (slot.finalized) return failure(ErrorClass::other, "MPI has been finalized before");
  MpiProcess& process = slot.process();
  Communicator& self = process.self();
  HAWSER_TRY(self.attributes.remove_all(self, process.attribute_callbacks()));
  // From here on MPI_Finalized must say yes to whatever still runs in callbacks.
  HAWSER_TRY(process.world().attributes.remove_all(process.world(), process.attribute_callbacks()));
  HAWSER_TRY(process.finish());
  slot.finalized = true;
  return {};
}

}  // namespace hawser
