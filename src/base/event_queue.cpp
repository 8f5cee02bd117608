#include "base/event_queue.h"

#include "base/assert.h"

namespace hawser {
namespace {

constexpr std::size_t arity = 4;

// Time and sequence as one number.
template <class Entry>
unsigned __int128 key_of(const Entry& entry) {
  return static_cast<unsigned __int128>(entry.time) << 64 | entry.sequence;
}

}  // namespace

// The next three are inlined, or entries would be written to the stack in pieces and read back at once, for
// which the processor waits.
[[gnu::always_inline]] inline void EventQueue::place(std::size_t position, const Entry& entry) {
  heap_[position] = entry;
  entry.event->position_ = static_cast<std::uint32_t>(position);
}

[[gnu::always_inline]] inline void EventQueue::sift_up(std::size_t position, Entry entry) {
  while (position > 0) {
    const std::size_t parent = (position - 1) / arity;
    if (!entry.before(heap_[parent])) break;
    place(position, heap_[parent]);
    position = parent;
  }
  place(position, entry);
}

[[gnu::always_inline]] inline void EventQueue::sift_down(std::size_t position, Entry entry) {
  while (true) {
    const std::size_t first = position * arity + 1;
    if (first >= heap_.size()) break;
    const std::size_t end = first + arity < heap_.size() ? first + arity : heap_.size();
    // Which child is the least is anyone's guess, also the processor's: no branch depends on it.
    const Entry* least = &heap_[first];
    for (const Entry *child = least + 1, *behind = &heap_[0] + end; child < behind; ++child)
      least = key_of(*child) < key_of(*least) ? child : least;
    if (!least->before(entry)) break;
    place(position, *least);
    position = static_cast<std::size_t>(least - &heap_[0]);
  }
  place(position, entry);
}

Event::~Event() {
  if (queue_ != nullptr) queue_->cancel(*this);
}

EventQueue::~EventQueue() {
  for (Entry& entry : heap_) entry.event->queue_ = nullptr;
}

void EventQueue::schedule(Event& event, Nanoseconds time) {
  if (event.queue_ != nullptr) event.queue_->cancel(event);
  if (time < now_) time = now_;
  event.queue_ = this;
  event.time_ = time;
  heap_.push_back({});
  sift_up(heap_.size() - 1, {time, next_sequence_++, &event});
}

void EventQueue::cancel(Event& event) {
  if (event.queue_ == nullptr) return;
  HAWSER_ASSERT(event.queue_ == this);
  event.queue_ = nullptr;
  remove_at(event.position_);
}

bool EventQueue::fire_next() {
  if (heap_.empty()) return false;
  const Entry first = heap_.front();
  HAWSER_ASSERT(first.time >= now_);
  now_ = first.time;
  first.event->queue_ = nullptr;
  remove_at(0);
  ++fired_;
  first.event->fire(now_);
  return true;
}

std::uint64_t EventQueue::fire_until(Nanoseconds time) {
  const std::uint64_t before = fired_;
  while (next_time() <= time) fire_next();
  if (time > now_) now_ = time;
  return fired_ - before;
}

void EventQueue::advance_to(Nanoseconds time) {
  HAWSER_ASSERT(time >= now_ && time <= next_time());
  now_ = time;
}

void EventQueue::remove_at(std::size_t position) {
  const Entry last = heap_.back();
  heap_.pop_back();
  if (position == heap_.size()) return;
  // The entry from the end may belong above or below the gap.
  if (position > 0 && last.before(heap_[(position - 1) / arity])) {
    sift_up(position, last);
  } else {
    sift_down(position, last);
  }
}

}  // namespace hawser
