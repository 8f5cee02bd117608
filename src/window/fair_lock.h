// FairLock: a lock for readers and writers that serves them in the order in which they came, readers that
// follow each other together. It lives in a few words that several processes may share; who waits looks again
// until it is its turn. The lock of one member's memory (MPI_Win_lock).
//
//   ticket = lock.draw();
//   until lock.try_enter(ticket, type): something else
//   lock.leave(type)
#pragma once

#include <atomic>
#include <cstdint>

#include "window/window_types.h"

namespace hawser {

class FairLock {
 public:
  // In shared memory, zero at first. Tickets come round after 2^32.
  struct Words {
    std::atomic<std::uint32_t> next{0};     // ticket
    std::atomic<std::uint32_t> readers{0};  // the ticket that may enter if it is a reader's
    std::atomic<std::uint32_t> writers{0};  // the same for a writer's: all before it have left
  };
  using Ticket = std::uint32_t;

  // `words` null: nobody shares them.
  explicit FairLock(Words* words = nullptr) : shared_(words) {}

  Ticket draw() { return words().next.fetch_add(1, std::memory_order_relaxed); }
  // After the first true of a ticket, not again.
  bool try_enter(Ticket ticket, LockType type) {
    Words& w = words();
    if (type == LockType::exclusive) return w.writers.load(std::memory_order_acquire) == ticket;
    if (w.readers.load(std::memory_order_acquire) != ticket) return false;
    w.readers.store(ticket + 1, std::memory_order_release);  // those behind may come, too
    return true;
  }
  void leave(LockType type) {
    Words& w = words();
    if (type == LockType::exclusive) w.readers.fetch_add(1, std::memory_order_release);
    w.writers.fetch_add(1, std::memory_order_release);
  }
  // Whether anybody holds it or waits for it.
  bool in_use() {
    Words& w = words();
    return w.writers.load(std::memory_order_relaxed) != w.next.load(std::memory_order_relaxed);
  }

 private:
  Words& words() { return shared_ == nullptr ? own_ : *shared_; }

  Words own_;
  Words* const shared_;
};

}  // namespace hawser
