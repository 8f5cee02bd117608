// StandIn: when the network's channels are armed to interrupt the program, so that a stand-in
// (base/process_lock.h) goes on with what others wait for. Pure.
//
// An interrupt that finds the program in a call of MPI was for nothing, because the call looks itself. So
// after it the channels stay unarmed, until the end of that call, or until the program begins something large
// that it does not wait for (expect), both as often as such interrupts were of use lately; or until the
// stand-in finds the program outside of MPI, some time after the call.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "base/time.h"

namespace hawser {

class StandIn {
 public:
  static constexpr Nanoseconds shortest_rest = 50 * microsecond, longest_rest = 8 * millisecond;

  // By the program, which holds the lock.
  bool armed() const { return armed_.load(std::memory_order_relaxed); }
  // Interrupts were of no use lately, so that some are left out.
  bool in_vain() const { return quiet_until_.load(std::memory_order_relaxed) != 0; }
  // Whether the channels are to be armed now. Then they count as armed.
  bool expect(Nanoseconds now) {
    if (now < quiet_until_.load(std::memory_order_relaxed)) {
      count(suppressed_);
      return false;
    }
    armed_.store(true, std::memory_order_relaxed);
    return true;
  }

  // By the stand-in.
  void on_interrupt() { armed_.store(false, std::memory_order_relaxed); }
  // It was there for an interrupt (else: because its time had come), and the program was in a call of MPI.
  // Returns how long to stay away after that call. With `looks_again`, the call itself arms at its end, and
  // interrupts tell what there is to be done; where it may not, because they were of no use for long, the
  // stand-in does not come often, either.
  Nanoseconds on_inside(bool interrupted, Nanoseconds now, bool looks_again) {
    const Nanoseconds rest = rest_;
    rest_ = std::min(2 * rest_, longest_rest);
    if (interrupted) count(without_use_);
    if (interrupted && ++useless_ > chance) {
      quiet_ = std::min(2 * quiet_, longest_quiet);
      quiet_until_.store(now + quiet_, std::memory_order_relaxed);
    }
    return looks_again ? longest_rest : rest;
  }
  // It came in vain so often that a call which lasts need not be looked at again and again.
  bool often_in_vain() const { return rest_ == longest_rest; }
  // A turn: the channels are armed again.
  void on_turn(bool interrupted, bool moved) {
    if (interrupted) count(moved ? of_use_ : without_use_);
    armed_.store(true, std::memory_order_relaxed);
    if (!moved) return;
    useless_ = 0;
    rest_ = quiet_ = shortest_rest;
    quiet_until_.store(0, std::memory_order_relaxed);
  }

  // For the rails' counters of the same names.
  std::uint64_t interrupts_useful() const { return of_use_.load(std::memory_order_relaxed); }
  std::uint64_t interrupts_useless() const { return without_use_.load(std::memory_order_relaxed); }
  std::uint64_t interrupts_suppressed() const { return suppressed_.load(std::memory_order_relaxed); }

 private:
  using Count = std::atomic<std::uint64_t>;
  // Each has one writer.
  static void count(Count& what) {
    what.store(what.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }

  // So many useless interrupts in a row are taken as chance. With more, 500 in a second are tried.
  static constexpr int chance = 8;
  static constexpr Nanoseconds longest_quiet = 2 * millisecond;

  std::atomic<bool> armed_{false};
  std::atomic<Nanoseconds> quiet_until_{0};  // no arming before; 0: at any time
  Count of_use_{0}, without_use_{0}, suppressed_{0};
  int useless_ = 0;  // interrupts in a row; these and what follows are the stand-in's
  Nanoseconds quiet_ = shortest_rest;
  Nanoseconds rest_ = shortest_rest;
};

}  // namespace hawser
