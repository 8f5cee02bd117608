// TimerList: the subchannels that are not simply ready or closed, which the timers look at.
#pragma once

#include <algorithm>

#include "base/intrusive_list.h"
#include "rails/datapath/rail_context.h"
#include "rails/datapath/subchannel.h"

namespace hawser {

class TimerList {
 public:
  explicit TimerList(RailContext& context) : context_(context) {}

  // The timers look at it, and do so in this pass.
  void watch(Subchannel& subchannel) {
    if (!subchannel.timer_link.linked()) list_.push_back(&subchannel);
    run_soon();
  }
  void remove(Subchannel& subchannel) {
    if (subchannel.timer_link.linked()) list_.remove(&subchannel);
  }
  void run_soon() {
    next_run_ = context_.now;
    context_.wake_sleeper();
  }
  void run_before(Nanoseconds time) {
    next_run_ = std::min(next_run_, time);
    context_.wake_sleeper();
  }
  // When the timers are to look next.
  Nanoseconds next_run() const { return next_run_; }
  void set_next_run(Nanoseconds time) { next_run_ = time; }

  bool empty() const { return list_.empty(); }
  Subchannel* front() const { return list_.front(); }
  Subchannel* next(const Subchannel* subchannel) const { return list_.next(subchannel); }

 private:
  RailContext& context_;
  IntrusiveList<Subchannel, &Subchannel::timer_link> list_;
  Nanoseconds next_run_ = 0;
};

}  // namespace hawser
