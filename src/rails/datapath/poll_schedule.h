// PollSchedule: how often completion queues, datagrams and device events are looked at. While packets come
// in, datagrams and events are looked for only so often; rails that are costly to poll (each look is a system
// call) are looked at less often than others, if there are others.
#pragma once

#include "rails/datapath/rail.h"
#include "rails/datapath/rail_context.h"

namespace hawser {

class PollSchedule {
 public:
  explicit PollSchedule(const RailContext& context) : context_(context) {}
  void add(const Rail& rail) { any_cheap_ |= !costly(rail); }

  bool to_be_polled(const Rail& rail) const;
  // Whether this pass looks for datagrams.
  bool begin_look() {
    skipped_ = context_.now < next_look_;
    if (!skipped_) look();
    return !skipped_;
  }
  // Whether it looks for events, too.
  bool looks_at_all() const { return all_; }
  // One came or went.
  void note_datagrams() {
    datagrams_ = true;
    next_look_ = 0;
  }
  // Whether its datagrams and its device's events are passed over in this look.
  bool skips(const Rail& rail) const { return !all_ && any_cheap_ && costly(rail); }
  // The next pass looks at everything.
  void look_at_all() {
    look_now_ = true;
    next_look_ = 0;
  }
  // When a look that was left out is to be made up for.
  Nanoseconds deadline() const;

 private:
  void look();
  // Every poll costs system calls.
  static bool costly(const Rail& rail) { return rail.attributes().address.transport == rdma::Transport::tcp; }

  const RailContext& context_;
  bool any_cheap_ = false;
  bool look_now_ = true;
  bool skipped_ = false;
  bool all_ = true;
  bool datagrams_ = false;     // since the last pass
  Nanoseconds next_look_ = 0;  // for datagrams
  Nanoseconds looked_at_all_ = 0;
  Nanoseconds datagrams_until_ = 0;
};

}  // namespace hawser
