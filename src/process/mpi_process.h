// MpiProcess: all state of one rank (decision 1). It exists from the first MPI call that needs it; between
// start and finish it is connected to the job and messages can be sent. Owns nothing that is shared with
// other ranks, so any number of them live in one address space, one after the other or side by side.
//
// Threads: every member is used under lock(), except where said.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/process_lock.h"
#include "base/result.h"
#include "message/point_to_point.h"
#include "message/progress.h"
#include "process/abi_hooks.h"
#include "process/environment.h"
#include "process/handles.h"

namespace hawser {

class Communicator;
struct ProcessSlot;

// Thread levels, numbered as in the standard ABI.
inline constexpr int thread_single = 0;
inline constexpr int thread_funneled = 1024;
inline constexpr int thread_serialized = 2048;
inline constexpr int thread_multiple = 4096;

class MpiProcess final : public Progress {
 public:
  MpiProcess(ProcessSlot& slot, Environment& environment);
  ~MpiProcess();

  // Connects to the job: MPI_Init and the first MPI_Session_init. Nested starts are counted.
  Result<> start(int thread_level);
  // Undoes one start; the last one flushes the channels and leaves the job. Collective over the job.
  Result<> finish();
  bool running() const { return starts_ > 0; }

  // The lock that an entry point holds; free unless thread_multiple was asked for.
  ProcessLock& lock() { return lock_; }
  int thread_level() const { return thread_level_; }
  bool on_main_thread() const { return main_thread_ == current_thread(); }

  Environment& environment() { return environment_; }
  Bootstrap& bootstrap() { return *environment_.bootstrap; }  // while running
  ChannelSet& channels() { return *environment_.channels; }   // while running
  int rank() const { return rank_; }                          // in MPI_COMM_WORLD
  int size() const { return size_; }
  const Knobs& knobs() const { return *environment_.knobs; }
  Nanoseconds now() { return environment_.clock->now(); }

  Handles& handles() { return handles_; }
  PointToPoint& point_to_point() { return point_to_point_; }
  Communicator& world() { return *world_; }  // while running
  Communicator& self() { return *self_; }

  // The functions of the ABI that the application was built for.
  const AbiHooks& hooks() const { return *hooks_; }
  void set_hooks(const AbiHooks& hooks) { hooks_ = &hooks; }

  // Progress
  bool make_progress() override;
  void wait_until(FunctionRef<bool()> done) override;

  // The communicator whose error handler must hear of the error that a core function just returned, where
  // the arguments do not tell (wait and test). Null: that of the arguments, else MPI_COMM_SELF's.
  Communicator* take_error_origin();
  void set_error_origin(Communicator* communicator);

  // Reports an error as its object's error handler wants it, and returns the code for the caller to return.
  // `function` is the MPI name. Does not return if the error is fatal.
  int report(const AbiObject& object, const char* function, const Error& error);
  // MPI_Abort: ends the job.
  [[noreturn]] void abort(int exit_code, const std::string& reason);

 private:
  Result<> connect();
  void disconnect();

  ProcessSlot& slot_;
  Environment& environment_;
  ProcessLock lock_;
  Handles handles_;
  PointToPoint point_to_point_;
  const AbiHooks* hooks_ = nullptr;
  ThreadIdentity main_thread_ = nullptr;
  int thread_level_ = thread_single;
  int starts_ = 0;
  int rank_ = 0;
  int size_ = 1;
  Ref<Communicator> world_;
  Ref<Communicator> self_;
  Communicator* error_origin_ = nullptr;
};

}  // namespace hawser
