// BundleAccount: whether small messages may wait to share a packet. They wait until the program sends more,
// or calls something that waits, tests or receives. Nobody knows whether it computes before that. So the
// account is kept: what sharing saved, less what messages waited while the program did something else. While
// more was lost than saved, messages go alone, and each pays a little, so that sharing is tried again some
// time. Pure.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time.h"

namespace hawser {

class BundleAccount {
 public:
  // A program that sends one message after another takes less for each.
  static constexpr Nanoseconds in_time = 1 * microsecond;
  // What a message that shares a packet saves its sender and its receiver (doc/performance.md), and what one
  // that might have shared pays.
  static constexpr Nanoseconds saved = 500, paid = saved / 16;
  // Neither a long burst nor a long computation counts for ever.
  static constexpr Nanoseconds most_saved = 10 * millisecond, most_owed = 100 * millisecond;
  static constexpr Nanoseconds at_first = 1 * millisecond;
  // Others may have taken the core while messages waited. Asking the system costs more than a message, so
  // that is done for so many bundles after a late one.
  static constexpr std::int32_t watched_after_late = 1000;

  // A message could wait for others. False: it goes alone.
  bool may_wait() {
    if (balance_ >= 0) [[likely]]
      return true;
    balance_ += paid;
    return false;
  }
  // Whether the processor time of the thread is wanted with the next bundle.
  bool watches() const { return watched_ > 0; }

  // How long `sends` messages may take to be sent.
  static constexpr Nanoseconds usual(std::uint64_t sends) {
    return in_time * static_cast<Nanoseconds>(sends);
  }
  // A bundle of so many messages could go in time.
  void on_time(std::int64_t messages) {
    balance_ = std::min(balance_ + saved * (messages - 1), most_saved);
    if (watched_ > 0) --watched_;
  }
  // It waited so long for nothing.
  void on_late(Nanoseconds in_vain) {
    balance_ = std::max(balance_ - std::max<Nanoseconds>(in_vain, 0), -most_owed);
    watched_ = watched_after_late;
  }

 private:
  Nanoseconds balance_ = at_first;
  std::int32_t watched_ = 0;
};

}  // namespace hawser
