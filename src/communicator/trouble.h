// Trouble: which processes have failed and which communicators are revoked, as far as this process knows:
// what stops operations. Kept by survival/, asked by whoever waits. Pure state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "communicator/communicator.h"
#include "communicator/group.h"
#include "mpi/error_class.h"

namespace hawser {

class Trouble {
 public:
  // Whether there is any, of any process or communicator.
  bool any() const { return version_ != 0; }
  // Changes with everything that is learned.
  std::uint64_t version() const { return version_; }

  // Both: false if it was known.
  bool add_failure(ProcessIndex process);
  bool add_revoked(std::uint32_t context);
  // The context id is free again.
  void forget_revoked(std::uint32_t context) { revoked_.erase(context); }

  bool has_failed(ProcessIndex process) const { return failed_.count(process) != 0; }
  bool revoked(std::uint32_t context) const { return revoked_.count(context) != 0; }
  // The same for any context of a communicator.
  bool revoked_context(std::uint32_t context) const {
    return !revoked_.empty() && revocable(context) && revoked(context - context % contexts_per_communicator);
  }
  // What is done in this context belongs to the communicator itself: not its end, nor what MPI_COMM_WORLD has
  // for others.
  static bool revocable(std::uint32_t context);
  // In the order in which they were learned of.
  std::span<const ProcessIndex> failures() const { return order_; }
  // Whether one of the group has failed, not counting the first `acknowledged` failures.
  bool fails(const Group& group, std::size_t acknowledged = 0) const;
  // Those of the group that have failed, among the first `known` failures, in the group's order.
  Ref<Group> failed_of(const Group& group, std::size_t known) const;

  // Why an operation among these processes in this context must end; success: it need not.
  ErrorClass stops(const Group& group, std::uint32_t context) const;

 private:
  std::uint64_t version_ = 0;
  std::vector<ProcessIndex> order_;
  std::set<ProcessIndex> failed_;
  std::set<std::uint32_t> revoked_;  // the first ids of communicators
};

// Thrown by a wait of a collective operation that cannot end any more; only between those that wait and the
// engine that runs the operation.
struct Stopped {
  ErrorClass why;
};

// What such a wait looks at: one comparison until something is learned.
class StopSign {
 public:
  StopSign(const Trouble& trouble, Ref<Group> group, std::uint32_t context)
      : trouble_(trouble), group_(std::move(group)), context_(context) {}

  bool raised() {
    if (trouble_.version() == seen_) return why_ != ErrorClass::success;
    seen_ = trouble_.version();
    why_ = trouble_.stops(*group_, context_);
    return why_ != ErrorClass::success;
  }
  ErrorClass why() const { return why_; }

 private:
  const Trouble& trouble_;
  Ref<Group> group_;
  std::uint32_t context_;
  std::uint64_t seen_ = 0;
  ErrorClass why_ = ErrorClass::success;
};

}  // namespace hawser
