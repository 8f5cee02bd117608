// StandIn: when the network's channels are armed to interrupt the program, so that a stand-in
// (base/process_lock.h) goes on with what others wait for. Pure.
//
// An interrupt that finds the program in a call of MPI was for nothing, because the call looks itself. So
// after it the channels stay unarmed, until the end of that call, or until the program begins something large
// that it does not wait for (expect), both as often as such interrupts were of use lately; or until the
// stand-in finds the program outside of MPI, some time after the call.
//
// Nor are they armed where the program waits at once for what it begins. The time between them is looked
// at: if it was short some times in a row, calls do as with polling, and an interrupt that is still
// armed is not answered. A program that begins to compute all the same is found outside of MPI by the
// stand-in's next look, and the time of one long computation is enough to go back.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <utility>

#include "base/time.h"

namespace hawser {

class StandIn {
 public:
  static constexpr Nanoseconds shortest_rest = 50 * microsecond, longest_rest = 8 * millisecond;
  // Before the first look, where others wait for answers that no message of the program's has to do with.
  static constexpr Nanoseconds rest_before_answers = 500 * microsecond;

  // By the program, which holds the lock.
  bool armed() const { return armed_.load(std::memory_order_relaxed); }
  // Interrupts were of no use lately, so that some are left out.
  bool in_vain() const { return quiet_until_.load(std::memory_order_relaxed) != 0; }
  // Whether it computes while what it began is under way, as far as is known: for so long that an interrupt
  // for a large message is worth its cost, or even one for a small message, which gains little.
  bool computes() const { return computes_ > 0; }
  bool computes_long() const { return computes_long_ > 0; }
  // Whether small operations matter to this, too.
  bool notes_small() const { return computes_long() || begun() || armed(); }
  // It began something that it does not wait for yet. Who finds what it began complete does not say that it
  // waits: where a turn came between, it may have computed for all that time, but for no more.
  void on_begun(Nanoseconds now) {
    if (begun()) computed_ = std::max(computed_, now - seen_);
    if (begun() && std::exchange(turned_, false)) judge(std::exchange(computed_, 0), false);
    seen_ = now;
  }
  bool begun() const { return seen_ != never; }
  // It waits, or looks for what it began.
  void on_awaited(Nanoseconds now) {
    judge(std::max(std::exchange(computed_, 0), now - seen_), true);
    seen_ = never;
    turned_ = false;
  }
  // Nothing is armed for something that is begun now.
  void leave_out() { count(suppressed_); }
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
  // Others need answers of this process also while it computes, whatever it has under way: it closes
  // connections and agrees on room for new ones.
  void note_answers_wanted() { answers_wanted_ = true; }
  bool answers_wanted() const { return answers_wanted_; }
  // How long to stay away from a program that was not seen to compute.
  Nanoseconds pause() const { return answers_wanted_ ? rest_before_answers : longest_rest; }
  void on_interrupt() { armed_.store(false, std::memory_order_relaxed); }
  // It was there for an interrupt (else: because its time had come), and the program was in a call of MPI.
  // Returns how long to stay away after that call. With `looks_again`, the call itself arms at its end, and
  // interrupts tell what there is to be done; where it may not, because they were of no use for long, the
  // stand-in does not come often, either.
  Nanoseconds on_inside(bool interrupted, Nanoseconds now, bool looks_again) {
    const Nanoseconds rest = std::exchange(rest_, std::min(2 * rest_, longest_rest));
    if (interrupted) count(without_use_);
    if (interrupted && ++useless_ > chance) {
      quiet_ = std::min(2 * quiet_, longest_quiet);
      quiet_until_.store(now + quiet_, std::memory_order_relaxed);
    }
    const Nanoseconds away = looks_again ? pause() : rest;
    look_due_ = now + away;
    return away;
  }
  // It came in vain so often that a call which lasts need not be looked at again and again.
  bool often_in_vain() const { return rest_ == longest_rest; }
  // The program is not in MPI. False: the interrupt came for what is not interrupted for any more, and the
  // channels stay unarmed until the next look. Who is not there for an interrupt, nor because something else
  // is due, looks: then the program may have computed since the look before.
  bool on_outside(bool interrupted, Nanoseconds now) {
    looks_ = !interrupted && now >= look_due_;
    if (looks_) look_due_ = now + pause();
    if (interrupted && !computes()) {
      count(without_use_);
      return false;
    }
    if (!looks_) return true;
    computes_ = std::max(computes_, 1);
    computes_long_ = std::max(computes_long_, 1);
    return true;
  }
  // The stand-in is there for such a look.
  bool looks() const { return looks_; }
  // A turn, after which the channels are armed again or not.
  void on_turn(bool interrupted, bool moved, bool armed = true) {
    if (interrupted) count(moved ? of_use_ : without_use_);
    armed_.store(armed, std::memory_order_relaxed);
    if (!moved) return;
    turned_ = true;
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
  // It computed for that time, or else at most for it.
  void judge(Nanoseconds time, bool all_of_it) {
    const auto learn = [&](int& what, Nanoseconds worth) {
      if (time < worth)
        what = std::max(what - 1, 0);
      else if (all_of_it)
        what = memory;
    };
    learn(computes_, worth_an_interrupt);
    learn(computes_long_, worth_many);
    if (!computes()) armed_.store(false, std::memory_order_relaxed);
  }
  // Each has one writer.
  static void count(Count& what) {
    what.store(what.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }

  // So many useless interrupts in a row are taken as chance. With more, 500 in a second are tried.
  static constexpr int chance = 8;
  static constexpr Nanoseconds longest_quiet = 2 * millisecond;
  // Of computing: what a large message gains, and what hides the interrupts of some small ones.
  static constexpr Nanoseconds worth_an_interrupt = 20 * microsecond, worth_many = 500 * microsecond;
  // So often it may wait at once before it counts as a program that does not compute.
  static constexpr int memory = 4;

  std::atomic<bool> armed_{false};
  std::atomic<Nanoseconds> quiet_until_{0};  // no arming before; 0: at any time
  Count of_use_{0}, without_use_{0}, suppressed_{0};
  // Under the process's lock, by either.
  Nanoseconds seen_ = never;  // when it last began something that it did not look for yet
  Nanoseconds computed_ = 0;  // at most without beginning anything, since it began the first of these
  bool turned_ = false;       // since, a turn moved something
  int computes_ = memory, computes_long_ = memory;
  int useless_ = 0;  // interrupts in a row; these and what follows are the stand-in's
  Nanoseconds quiet_ = shortest_rest;
  Nanoseconds rest_ = shortest_rest;
  Nanoseconds look_due_ = 0;
  bool looks_ = false;
  bool answers_wanted_ = false;
};

}  // namespace hawser
