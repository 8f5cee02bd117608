// SubchannelDriver: the only one that sends events to subchannels' machines. Takes the actions that come of
// it to those who execute them: Failover on the way down, Connector on the way up, Containment for
// suspicions.
#pragma once

#include <optional>

#include "rails/datapath/path_report.h"
#include "rails/datapath/rail_context.h"
#include "rails/datapath/subchannel.h"
#include "rails/datapath/watch_list.h"

namespace hawser {

class AddressBook;
class Connector;
class Containment;
class Failover;

class SubchannelDriver {
 public:
  struct Executors {
    Failover& failover;
    Connector& connector;
    Containment& containment;
    AddressBook& addresses;
  };
  SubchannelDriver(RailContext& context, WatchList& watches, PathReport& report, const Executors& executors)
      : context_(context), watches_(watches), report_(report), executors_(executors) {}

  // Lets the event happen, and does what is to be done about it.
  void on(Subchannel& subchannel, SubchannelEvent event);

 private:
  using Report = std::optional<SubchannelEvent>;
  Report execute(Subchannel& subchannel, const SubchannelAction& action);
  Report connect(Subchannel& subchannel, const SubchannelAction& action);
  Report take_down(Subchannel& subchannel, const SubchannelAction& action);
  Report tell(Subchannel& subchannel, const SubchannelAction& action);
  void leave_service(Subchannel& subchannel);

  RailContext& context_;
  WatchList& watches_;
  PathReport& report_;
  Executors executors_;
};

}  // namespace hawser
