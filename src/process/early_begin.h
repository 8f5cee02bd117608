// EarlyBegin: whether what a call begins, and what could go on now, goes on before the call returns. Nobody
// else lets it before the program's next call that makes a pass. But a program that waits at once gains
// nothing, and some exchanges without computing were slower, so it is learned from how long the program was
// away before.
#pragma once

#include <algorithm>

#include "base/time.h"

namespace hawser {

class EarlyBegin {
 public:
  // Such a call. True: it goes on now.
  bool begins(Nanoseconds now) {
    note(now);
    last_ = now;
    return short_times_ < enough_times;
  }
  bool under_way() const { return last_ != never; }
  // The first pass after such calls.
  void on_pass(Nanoseconds now) {
    note(now);
    short_times_ = longest_ < short_time ? std::min(short_times_ + 1, enough_times) : 0;
    longest_ = 0;
    last_ = never;
  }

 private:
  // As for interrupts (StandIn).
  static constexpr Nanoseconds short_time = 20 * microsecond;
  static constexpr int enough_times = 4;

  void note(Nanoseconds now) {
    if (under_way()) longest_ = std::max(longest_, now - last_);
  }

  Nanoseconds last_ = never;
  Nanoseconds longest_ = 0;  // between these calls, or to the pass
  int short_times_ = 0;      // in a row
};

}  // namespace hawser
