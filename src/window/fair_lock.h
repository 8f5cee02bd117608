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
  // May lie in shared memory; zero at first. Tickets come round after 2^32.
  struct Words {
    std::atomic<std::uint32_t> next{0};     // ticket
    std::atomic<std::uint32_t> readers{0};  // the ticket that may enter if it is a reader's
    std::atomic<std::uint32_t> writers{0};  // the same for a writer's: all before it have left
  };
  using Ticket = std::uint32_t;

  explicit FairLock(Words& words) : words_(words) {}

  Ticket draw() { return words_.next.fetch_add(1, std::memory_order_seq_cst); }
  // After the first true of a ticket, not again.
  bool try_enter(Ticket ticket, LockType type) {
    if (type == LockType::exclusive) return words_.writers.load(std::memory_order_acquire) == ticket;
    if (words_.readers.load(std::memory_order_acquire) != ticket) return false;
    words_.readers.store(ticket + 1, std::memory_order_seq_cst);  // those behind may come, too
    return true;
  }
  void leave(LockType type) {
    if (type == LockType::exclusive) words_.readers.fetch_add(1, std::memory_order_seq_cst);
    words_.writers.fetch_add(1, std::memory_order_seq_cst);
  }
  // Whether somebody waits, or is in behind the one who asks.
  bool has_others(Ticket ticket) const { return words_.next.load(std::memory_order_relaxed) != ticket + 1; }

 private:
  Words& words_;
};

}  // namespace hawser
