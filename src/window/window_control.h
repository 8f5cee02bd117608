// WindowControl: what the processes of a node share beside one member's part of a window: the member's lock,
// and who is calculating in its memory. Zero at first.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/rest.h"
#include "window/fair_lock.h"

namespace hawser {

struct alignas(64) WindowControl {
  FairLock::Words lock;
  alignas(64) std::atomic<std::uint32_t> calculating{0};
  // Who waits for a turn of the lock, by ticket: the process's place on the node and 1. Not cleared
  // afterwards: who is woken in vain goes on waiting.
  alignas(64) std::atomic<std::int32_t> waiting[1];

  // As many as there are bytes for (SharedWindowMemory::control_bytes): each member has at most one turn to
  // wait for, and the owner one more for processes of other nodes.
  static std::uint32_t places(int members_on_node) {
    return 2 * (static_cast<std::uint32_t>(members_on_node) + 1);
  }
  // When whoever has the turn may have come: calls wake(place).
  template <class Wake>
  void wake_next(std::uint32_t places, Wake&& wake) {
    for (const auto* turn : {&lock.readers, &lock.writers}) {
      const std::uint32_t ticket = turn->load(std::memory_order_seq_cst);
      if (ticket == lock.next.load(std::memory_order_relaxed)) continue;
      const std::int32_t place = waiting[ticket % places].load(std::memory_order_seq_cst);
      if (place > 0) wake(place - 1);
    }
  }
};

// Held while one process calculates in a member's memory (accumulates and their like): all of them take it,
// of all datatypes, so that each element is replaced as one. Short: a few KiB at most.
class Calculating {
 public:
  // `control` null: only this process can reach the memory.
  explicit Calculating(WindowControl* control) : control_(control) {
    if (control_ == nullptr) return;
    while (control_->calculating.exchange(1, std::memory_order_acquire) != 0) {
      for (std::uint32_t idle = 0; control_->calculating.load(std::memory_order_relaxed) != 0; ++idle)
        rest(idle);
    }
  }
  ~Calculating() {
    if (control_ != nullptr) control_->calculating.store(0, std::memory_order_release);
  }
  Calculating(const Calculating&) = delete;
  Calculating& operator=(const Calculating&) = delete;

 private:
  WindowControl* const control_;
};

}  // namespace hawser
