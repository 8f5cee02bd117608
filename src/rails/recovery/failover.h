// Failover: executes what the subchannel's machine decides when a subchannel fails: stop, drain, fence,
// compare, reissue (doc/rails.md); and finds failures that nobody reports. A
// completion with an error says that a request's fate is unknown. Both ends stop the connection and look at
// everything that had arrived; then each tells the other how many packets of this generation it received.
// As a reliable connection delivers in order, that number alone says of each packet, and of each stripe by
// the finish behind it, whether it arrived. Only then is anything sent again.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/result.h"
#include "rails/datapath/completions.h"
#include "rails/datapath/rail_context.h"
#include "rails/datapath/rail_resources.h"
#include "rails/datapath/stripe_engine.h"
#include "rails/datapath/subchannel.h"
#include "rails/datapath/timer_list.h"
#include "rails/datapath/work_entry.h"
#include "rails/protocol/remote_windows.h"
#include "rails/protocol/rendezvous.h"
#include "rails/recovery/recovery_links.h"
#include "rails/status/status_table.h"
#include "rails/wire/packet.h"

namespace hawser {

class AlternatePaths;
class Quarantine;

class Failover {
 public:
  // What a failure has to do with beside the subchannel itself.
  struct Neighbours {
    StripeEngine& stripes;
    Rendezvous& rendezvous;
    RemoteWindows& windows;
    ControlMessages& control;
    AlternatePaths& alternates;
    Quarantine& quarantine;
    MachineEvents& machines;
  };
  Failover(RailContext& context, RailResources& resources, TimerList& timers, Completions& completions,
           const Neighbours& neighbours)
      : context_(context),
        resources_(resources),
        timers_(timers),
        completions_(completions),
        stripes_(neighbours.stripes),
        rendezvous_(neighbours.rendezvous),
        windows_(neighbours.windows),
        control_(neighbours.control),
        alternates_(neighbours.alternates),
        quarantine_(neighbours.quarantine),
        machines_(neighbours.machines) {}

  // Takes a fence or its answer, that came by packet or datagram.
  void on_message(VirtualChannel& peer, bool fence, std::span<const std::byte> body);
  // Judges requests that are outstanding while none completes.
  void watch(VirtualChannel& peer);
  // Its adapter took another route, whoever asked: silence counts little of the time before.
  void on_migrated(Subchannel& subchannel);
  // Gives the peer up: everything that waits for it ends with an error.
  void lose(VirtualChannel& peer, const Error& error);
  // The first byte after a failure is on its way.
  void note_resumed(std::int64_t bytes) {
    if (resumed_) return;
    resumed_ = true;
    note_resumption(bytes);
  }

  // Actions of the machine, for the driver. Those that report back return what came of it.
  using Report = std::optional<SubchannelEvent>;
  void note_failure(Subchannel& subchannel, const SubchannelAction& failure);
  Report stop(Subchannel& subchannel);
  Report poll(Subchannel& subchannel);
  void destroy(Subchannel& subchannel);
  void cut(Subchannel& subchannel, SubchannelState before);
  void drop_unsequenced(Subchannel& subchannel);
  Report send_fence(Subchannel& subchannel, const SubchannelAction& fence);
  void send_answer(Subchannel& subchannel, const SubchannelAction& answer);
  void reissue(Subchannel& subchannel, const SubchannelAction& compared);
  void discard(Subchannel& subchannel);
  void lose_for(Subchannel& subchannel, PathReason reason);

 private:
  void note_resumption(std::int64_t bytes);
  PathActivity activity(const Subchannel& subchannel, Nanoseconds since) const;
  bool found_late(const Subchannel& subchannel, const SubchannelAction& failure) const;
  bool silent(Subchannel& subchannel, const PathActivity& activity);
  bool others_get_through(Subchannel& subchannel, Nanoseconds since);
  void send_message(Subchannel& subchannel, bool fence, const SubchannelAction& message);

  RailContext& context_;
  RailResources& resources_;
  TimerList& timers_;
  Completions& completions_;
  StripeEngine& stripes_;
  Rendezvous& rendezvous_;
  RemoteWindows& windows_;
  ControlMessages& control_;
  AlternatePaths& alternates_;
  Quarantine& quarantine_;
  MachineEvents& machines_;
  bool resumed_ = true;
};

}  // namespace hawser
