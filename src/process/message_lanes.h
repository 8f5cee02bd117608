// MessageLanes: the lanes for threads of one process (message/message_lane.h), and which communicator is on
// which. A communicator that a program makes goes on a lane if all its processes are on this node and have
// lanes; all of them find the same. Its collectives, windows and partitioned operations stay the process's.
//
// Used under the process's lock, except where said.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "base/function_ref.h"
#include "base/process_lock.h"
#include "channel/lane_count.h"
#include "communicator/communicator.h"
#include "message/message_lane.h"
#include "message/progress.h"
#include "process/handles.h"

namespace hawser {

class MessageLanes final : public InnerLocks {
 public:
  // `shared_memory`: the process's; null: it is alone on its node.
  MessageLanes(int count, const MessageLane::Place& place, SharedMemoryChannel* shared_memory,
               const Handles& handles, ProcessLock& lock, Progress& progress);
  ~MessageLanes();
  void at_bad_packet(const std::function<void(const std::string&)>& end_job);
  void close();

  int count() const { return static_cast<int>(lanes_.size()); }

  // The program gets a communicator, which has its handle; or frees it. All its processes adopt it, or none;
  // so whoever may adopt it first waits until it knows of all whether they have lanes.
  static bool may_adopt(const Communicator& communicator);
  bool knows(const Communicator& communicator) const { return lanes_of_all(communicator).has_value(); }
  void adopt(Communicator& communicator);
  void leave(Communicator& communicator);
  // The communicator was revoked, and will be known to be after this.
  void revoke(const Communicator& communicator);
  // A context id will be used again.
  void release_context(std::uint32_t context);

  // Takes a lane's lock, until the process's is free. It may be held already.
  void hold(MessageLane& lane) {
    if ((held_ & bit_of(lane)) == 0) take(bit_of(lane));
  }
  // Those whose lock is held, a bit for each number.
  std::uint32_t held() const { return held_; }
  // Others want one of these.
  bool contended() const;
  std::uint32_t release() override;
  void take(std::uint32_t which) override;

  // One pass over the lanes that are held; over all that are free, too, if `all`.
  bool progress(bool all);
  // Takes all locks, and ends what was left to who holds both.
  void settle_all();
  bool flushed();
  // The request of a lane, whose lock is held from now on; null: the number names none.
  Request* find_request(std::uint64_t number);
  MatchingCounters counters();
  template <class Visit>
  void for_each_pending(Visit&& visit) {
    for (const auto& lane : lanes_) {
      hold(*lane);
      lane->messages().for_each_pending(visit);
    }
  }

  // --- Without the process's lock

  // Of the communicator with this handle number; null: it is on none, or not listed.
  LaneMember* find(std::uint64_t number) const {
    return number < listed ? members_[number].load(std::memory_order_acquire) : nullptr;
  }
  // Null: no predefined type has this number.
  const Datatype* predefined_type(std::uint64_t number) const {
    return number < types_.size() ? types_[number] : nullptr;
  }
  // Null: there is none.
  MessageLane* lane(std::uint32_t number) const {
    return number >= 1 && number <= lanes_.size() ? lanes_[number - 1].get() : nullptr;
  }
  // Waits with the lane's lock, which others may have meanwhile.
  void wait(MessageLane& lane, FunctionRef<bool()> done);

 private:
  static constexpr std::size_t listed = 4096;
  static std::uint32_t bit_of(const MessageLane& lane) { return std::uint32_t{1} << lane.number(); }

  // How many lanes each process has at least; 0: one is on another node. Empty: one has not started yet.
  std::optional<int> lanes_of_all(const Communicator& communicator) const;
  void let_go_of_freed();

  ProcessLock& lock_;
  Progress& progress_;
  SharedMemoryChannel* const shared_memory_;
  const MessageLane::Place place_;
  std::vector<std::unique_ptr<MessageLane>> lanes_;
  std::uint32_t held_ = 0;
  std::array<std::atomic<LaneMember*>, listed> members_ = {};
  std::array<const Datatype*, datatype_range.reserved> types_;  // by number
  std::vector<Ref<Communicator>> freed_;  // by the program, while requests are under way
};

}  // namespace hawser
