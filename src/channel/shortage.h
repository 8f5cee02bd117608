// Shortage: something has run out that a process needs to reach others (open files, queue pairs). It often
// passes; where it lasts, the user hears of it.
#pragma once

#include "base/time.h"

namespace hawser {

class Shortage {
 public:
  // What was needed is there.
  void end() { since_ = never; }
  // It is not there now. True if that is to be told to the user: once, after it has lasted.
  bool lasts(Nanoseconds now) {
    if (since_ == never) since_ = now;
    if (told_ || now - since_ < time_before_notice) return false;
    return told_ = true;
  }

 private:
  static constexpr Nanoseconds time_before_notice = 5 * second;

  Nanoseconds since_ = never;
  bool told_ = false;
};

}  // namespace hawser
