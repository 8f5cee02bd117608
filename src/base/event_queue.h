// EventQueue: future events, ordered by (time, sequence). It is the clock of virtual time and the timer of
// all event-driven state machines. The simulator fires events as fast as possible; the emulator fires those
// that are due in real time.
//
// An Event is a member of the object it concerns, so scheduling allocates nothing and cancelling is cheap.
// Events with the same time fire in the order in which they were scheduled, so a run depends only on its
// inputs.
#pragma once

#include <cstdint>
#include <vector>

#include "base/time.h"

namespace hawser {

class EventQueue;

class Event {
 public:
  Event() = default;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  virtual ~Event();  // a scheduled event leaves its queue

  // Called by the queue at the event's time. The event is no longer scheduled then: it may schedule itself
  // again or be destroyed.
  virtual void fire(Nanoseconds now) = 0;

  bool scheduled() const { return queue_ != nullptr; }
  Nanoseconds time() const { return time_; }  // of the last schedule

 private:
  friend class EventQueue;
  EventQueue* queue_ = nullptr;
  Nanoseconds time_ = 0;
  std::uint32_t position_ = 0;  // in the queue's heap
};

class EventQueue final : public Clock {
 public:
  EventQueue() = default;
  EventQueue(const EventQueue&) = delete;
  EventQueue& operator=(const EventQueue&) = delete;
  ~EventQueue() override;  // forgets the events that are still scheduled

  // The time of the event that fired last, or that was advanced to.
  Nanoseconds now() override { return now_; }

  // Makes `event` fire at `time`; a time that has passed counts as now. Moves it when it is scheduled
  // already.
  void schedule(Event& event, Nanoseconds time);
  void cancel(Event& event);  // nothing when it is not scheduled

  bool empty() const { return heap_.empty(); }
  std::size_t size() const { return heap_.size(); }
  Nanoseconds next_time() const { return heap_.empty() ? never : heap_.front().time; }

  // Fires the next event; false when there is none.
  bool fire_next();
  // Fires everything up to and including `time`, then lets now be `time`. Returns the number fired.
  std::uint64_t fire_until(Nanoseconds time);
  // Lets time pass while nothing happens; no event may be due before `time`.
  void advance_to(Nanoseconds time);

  std::uint64_t fired() const { return fired_; }

 private:
  struct Entry {
    Nanoseconds time;
    std::uint64_t sequence;
    Event* event;
    bool before(const Entry& other) const {
      return time != other.time ? time < other.time : sequence < other.sequence;
    }
  };
  void place(std::size_t position, const Entry& entry);
  void sift_up(std::size_t position, Entry entry);
  void sift_down(std::size_t position, Entry entry);
  void remove_at(std::size_t position);

  std::vector<Entry> heap_;  // four children per entry: fewer cache lines than two
  Nanoseconds now_ = 0;
  std::uint64_t next_sequence_ = 0;
  std::uint64_t fired_ = 0;
};

// An event that calls a member function: Event members without a class for each.
//   MemberEvent<Port, &Port::on_retry> retry_{*this};
template <class Owner, void (Owner::*Function)(Nanoseconds)>
class MemberEvent final : public Event {
 public:
  explicit MemberEvent(Owner& owner) : owner_(owner) {}
  void fire(Nanoseconds now) override { (owner_.*Function)(now); }

 private:
  Owner& owner_;
};

}  // namespace hawser
