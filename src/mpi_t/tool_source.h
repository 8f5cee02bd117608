// ToolSource: what MPI_T reads of the process that it belongs to. The process implements it.
#pragma once

#include "base/process_lock.h"
#include "base/time.h"
#include "message/point_to_point.h"
#include "mpi_t/operation_counters.h"
#include "rails/status/rail_counters.h"

namespace hawser {

class Communicator;

class ToolSource {
 public:
  // Of all messages, and those that belong to a communicator.
  virtual MatchingCounters matching_counters() = 0;
  virtual std::uint64_t pending_requests() = 0;
  virtual PointToPoint& messages_of(const Communicator& communicator) = 0;
  // The rails' counters; null where none are used, or while not in the job.
  virtual const RailCounters* rail_counters() = 0;
  // Whether messages go on while the program computes.
  virtual bool moves_while_computing() const = 0;
  virtual const OneSidedCounters& one_sided_counters() const = 0;
  virtual CollectiveCounters collective_counters() = 0;
  // How long MPI_Init took.
  virtual Nanoseconds time_to_join() const = 0;
  // Callbacks of tools run without it.
  virtual ProcessLock& lock() = 0;

 protected:
  ~ToolSource() = default;
};

// While it lives, the process's lock is not held: around calls of the application's functions, which may call
// MPI again.
class Unlocked {
 public:
  explicit Unlocked(ToolSource& process)
      : lock_(process.lock()),
        holder_(lock_.holder()),
        inner_(lock_.inner() == nullptr ? 0 : lock_.inner()->release()) {
    lock_.unlock();
  }
  ~Unlocked() {
    lock_.lock(holder_);
    if (inner_ != 0) lock_.inner()->take(inner_);
  }
  Unlocked(const Unlocked&) = delete;

 private:
  ProcessLock& lock_;
  const char* holder_;
  std::uint32_t inner_;  // the inner locks that were held
};

}  // namespace hawser
