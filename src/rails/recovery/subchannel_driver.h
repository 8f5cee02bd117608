// SubchannelDriver: the only one that sends events to subchannels' machines. Takes the actions that come of
// it to those who execute them: Failover on the way down, Connector on the way up, Quarantine for
// suspicions.
#pragma once

#include <optional>

#include "rails/datapath/path_report.h"
#include "rails/datapath/rail_context.h"
#include "rails/datapath/subchannel.h"
#include "rails/datapath/timer_list.h"
#include "rails/recovery/recovery_links.h"

namespace hawser {

class AddressBook;
class Closer;
class Connector;
class Quarantine;
class Failover;

class SubchannelDriver final : public MachineEvents {
 public:
  struct Executors {
    Failover& failover;
    Connector& connector;
    Quarantine& quarantine;
    AddressBook& addresses;
    Closer& closer;
  };
  SubchannelDriver(RailContext& context, TimerList& timers, PathReport& report, const Executors& executors)
      : context_(context), timers_(timers), report_(report), executors_(executors) {}

  void on(Subchannel& subchannel, SubchannelEvent event) override;

 private:
  using Report = std::optional<SubchannelEvent>;
  Report execute(Subchannel& subchannel, const SubchannelAction& action);
  Report connect(Subchannel& subchannel, const SubchannelAction& action);
  Report take_down(Subchannel& subchannel, const SubchannelAction& action);
  Report tell(Subchannel& subchannel, const SubchannelAction& action);
  void leave_service(Subchannel& subchannel, PathReason reason);

  RailContext& context_;
  TimerList& timers_;
  PathReport& report_;
  Executors executors_;
};

}  // namespace hawser
