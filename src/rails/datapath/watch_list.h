// WatchList: the subchannels that are not simply ready or closed, which the timers look at.
#pragma once

#include "base/intrusive_list.h"
#include "rails/datapath/rail_context.h"
#include "rails/datapath/subchannel.h"

namespace hawser {

class WatchList {
 public:
  explicit WatchList(const RailContext& context) : context_(context) {}

  // The timers look at it, and do so in this pass.
  void watch(Subchannel& subchannel) {
    if (!subchannel.attention.linked()) list_.push_back(&subchannel);
    look_soon();
  }
  void remove(Subchannel& subchannel) {
    if (subchannel.attention.linked()) list_.remove(&subchannel);
  }
  void look_soon() { next_look_ = context_.now; }
  // When the timers are to look next.
  Nanoseconds next_look() const { return next_look_; }
  void set_next_look(Nanoseconds time) { next_look_ = time; }

  bool empty() const { return list_.empty(); }
  Subchannel* front() const { return list_.front(); }
  Subchannel* next(const Subchannel* subchannel) const { return list_.next(subchannel); }

 private:
  const RailContext& context_;
  IntrusiveList<Subchannel, &Subchannel::attention> list_;
  Nanoseconds next_look_ = 0;
};

}  // namespace hawser
