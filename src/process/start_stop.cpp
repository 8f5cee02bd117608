#include "process/start_stop.h"

#include "mpi/failure.h"
#include "process/thread_level.h"

namespace hawser {

namespace {

class Locked {
 public:
  Locked(MpiProcess& process, const char* holder) : process_(process) { process_.lock().lock(holder); }
  ~Locked() { process_.lock().unlock(); }
  Locked(const Locked&) = delete;

 private:
  MpiProcess& process_;
};

}  // namespace

Result<> initialize(ProcessSlot& slot, const AbiHooks& hooks, int required, int& provided) {
  if (slot.finalized) return failure(ErrorClass::other, "MPI cannot be initialized again after MPI_Finalize");
  if (slot.initialized) return failure(ErrorClass::other, "MPI is already initialized");
  const std::string_view level = thread_level_name(required);
  if (level.empty()) return failure(ErrorClass::arg, "required is {}, which is not a thread level", required);
  MpiProcess& process = slot.process();
  process.set_hooks(hooks);
  const Locked locked(process, "MPI_Init");
  HAWSER_TRY(process.start(required));
  process.show_world();
  HAWSER_TRY(process.environment_info().set("thread_level", level));
  provided = process.thread_level();
  slot.initialized = true;
  return {};
}

Result<> finalize(ProcessSlot& slot) {
  if (!slot.initialized) return failure(ErrorClass::other, "MPI is not initialized");
  if (slot.finalized) return failure(ErrorClass::other, "MPI is already finalized");
  MpiProcess& process = slot.process();
  Communicator& self = process.self();
  HAWSER_TRY(self.attributes.remove_all(self, process.attribute_callbacks()));
  // From here on MPI_Finalized must say yes to whatever still runs in callbacks.
  HAWSER_TRY(process.world().attributes.remove_all(process.world(), process.attribute_callbacks()));
  process.finish();
  HAWSER_TRY(process.leave());
  process.hide_world();
  slot.finalized = true;
  return {};
}

Result<> leave_job(ProcessSlot& slot) {
  MpiProcess& process = slot.process();
  const Locked locked(process, "MPI_Finalize");
  return process.leave();
}

void become_copy_in_child() { current_slot().process().become_copy(); }

void leave_job_at_exit() {
  const Result<> left = leave_job(current_slot());
  if (!left) current_slot().process().environment().host->print("hawser: " + left.error().text);
}

}  // namespace hawser
