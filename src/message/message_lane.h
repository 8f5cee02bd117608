// MessageLane: one more way for messages between the processes of a node, for programs of several threads
// (MPI_THREAD_MULTIPLE). A lane has what the process has for messages, once more: rings, matching, requests;
// and a lock of its own. A communicator lives on one lane, the same in all its processes, so that its
// messages keep their order and MPI_ANY_SOURCE looks in one place. Threads on different lanes share nothing.
//
//   MPI_COMM_WORLD, collectives, windows ──> the process: its lock, matching, channels
//   communicators that a program makes ────> lane 1: lock, matching, rings ──> lane 1 of the neighbour
//                                            lane 2: ...
//
// Who uses a lane holds its lock, and for all but the most frequent calls the process's lock, too: first the
// process's, then any number of lanes'. Who holds only a lane's never waits for the process's. So nobody
// waits in a circle. What such a thread cannot do, for it would touch what belongs to the process, is left to
// the next who holds both (PointToPoint::settle).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/counted.h"
#include "channel/channel_set.h"
#include "channel/lane.h"
#include "channel/process_table.h"
#include "channel/shared_memory_channel.h"
#include "message/direct_messages.h"
#include "message/point_to_point.h"
#include "message/request_table.h"

namespace hawser {

// Mostly free: who finds it taken looks a few times, and then sleeps. As in ProcessLock, no fence stands
// between the look and the store of unlock(), so nobody sleeps without a limit.
class LaneLock {
 public:
  bool try_lock() {
    std::uint32_t expected = unlocked;
    return state_.load(std::memory_order_relaxed) == unlocked &&
           state_.compare_exchange_strong(expected, locked, std::memory_order_acquire);
  }
  void lock() {
    if (!try_lock()) [[unlikely]]
      wait();
  }
  void unlock() {
    const bool wanted = state_.load(std::memory_order_relaxed) == locked_and_wanted;
    state_.store(unlocked, std::memory_order_release);
    if (wanted) [[unlikely]]
      wake();
  }
  // Whether others want it at this moment.
  bool contended() const { return wanting_.load(std::memory_order_relaxed) != 0; }

 private:
  enum State : std::uint32_t { unlocked, locked, locked_and_wanted };

  [[gnu::cold]] void wait();
  [[gnu::cold]] void wake();

  std::atomic<std::uint32_t> state_{unlocked};
  std::atomic<std::uint32_t> wanting_{0};
};

// Everything but the lock and the number is used under the lock.
class alignas(64) MessageLane {
 public:
  // Numbers begin with 1: 0 is the process's own.
  explicit MessageLane(std::uint8_t number) : requests_(number), messages_(requests_) {}
  MessageLane(const MessageLane&) = delete;

  // `segment`: of the node; null: the process is alone there. `own`: the process's messages, whose buffers
  // for buffered sends serve all.
  struct Place {
    ProcessIndex self;
    const ProcessTable& processes;
    const SharedSegment* segment;
    std::int32_t place;  // among the node's
    std::vector<ProcessIndex> neighbours;
    const Knobs& knobs;
    UnexpectedBounds bounds;
    PointToPoint& own;
  };
  void connect(const Place& place, Progress& progress);
  // The lane will be used: what it needs of the node's shared memory. Neighbours may have sent before.
  void open(const Place& place);
  bool opened() const { return channel_ != nullptr; }
  void at_bad_packet(std::function<void(const std::string&)> end_job) {
    lane_.at_bad_packet(std::move(end_job));
  }
  void disconnect();

  LaneLock& lock() { return lock_; }
  std::uint8_t number() const { return requests_.lane(); }
  PointToPoint& messages() { return messages_; }
  RequestTable& requests() { return requests_; }
  // One pass; true if anything moved.
  bool progress();
  // Of tests that found nothing.
  std::uint32_t count_test() { return ++tests_; }
  // Nothing that was sent is still in this process's hands.
  bool flushed() const { return messages_.flushed() && (channel_ == nullptr || channel_->flushed()); }

 private:
  struct Choice final : ChannelChoice {
    Transport* channel_of(ProcessIndex peer) override { return peer == self ? nullptr : channel; }
    ProcessIndex self = 0;
    Transport* channel = nullptr;
  };

  LaneLock lock_;
  RequestTable requests_;
  PointToPoint messages_;
  Lane lane_;
  DirectMessages direct_{lane_, messages_};
  Choice choice_;
  std::unique_ptr<SharedMemoryChannel> channel_;  // null: alone, or not opened
  std::uint32_t tests_ = 0;
};

// Stands for a communicator on its lane: requests keep it alive in place of the communicator, whose
// references are counted under the process's lock. Its own are counted under the lane's.
class LaneMember final : public Counted {
 public:
  LaneMember(MessageLane& on, Counted& of) : lane(on), communicator(of) {}

  MessageLane& lane;
  Counted& communicator;
};

// The communicator that a request was made on, or that a matched probe took a message from; null: none.
template <class Kept>
Counted* owner_of(const Kept& kept) {
  Counted* const keeper = kept.communicator.get();
  return kept.lane == 0 || keeper == nullptr ? keeper : &static_cast<const LaneMember*>(keeper)->communicator;
}

}  // namespace hawser
