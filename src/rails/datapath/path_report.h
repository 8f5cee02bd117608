// PathReport: tells the outside (status table, event log) how subchannels stand.
#pragma once

#include "rails/datapath/rail_context.h"
#include "rails/datapath/subchannel.h"
#include "rails/status/status_table.h"

namespace hawser {

class PathReport {
 public:
  explicit PathReport(RailContext& context) : context_(context) {}

  // To be called for every state that the subchannel comes into.
  void show(Subchannel& subchannel, SubchannelState state, PathReason reason);
  // Attempts to connect again that could not even begin: the 1st, 2nd, 4th, 8th... since the failure.
  void show_vain_attempt(Subchannel& subchannel, PathReason reason);

 private:
  RailContext& context_;
};

}  // namespace hawser
