// Failover: what happens when a subchannel fails: stop, drain, fence, compare, reissue (doc/rails.md). A
// completion with an error says that a request's fate is unknown. Both ends stop the connection and look at
// everything that had arrived; then each tells the other how many packets of this incarnation it received.
// As a reliable connection delivers in order, that number alone says of each packet, and of each stripe by
// the finish behind it, whether it arrived. Only then is anything sent again.
#pragma once

#include <cstdint>
#include <span>

#include "base/result.h"
#include "rails/datapath/completions.h"
#include "rails/datapath/path_report.h"
#include "rails/datapath/rail_context.h"
#include "rails/datapath/rail_resources.h"
#include "rails/datapath/subchannel.h"
#include "rails/datapath/watch_list.h"
#include "rails/datapath/work_entry.h"
#include "rails/protocol/rendezvous.h"
#include "rails/status/status_table.h"
#include "rails/wire/packet.h"

namespace hawser {

class AddressBook;
class AlternatePaths;
class Connector;
class Containment;

class Failover {
 public:
  // What a failure has to do with beside the subchannel itself.
  struct Neighbours {
    Rendezvous& rendezvous;
    Connector& connector;
    AlternatePaths& alternates;
    Containment& containment;
    AddressBook& addresses;
  };
  Failover(RailContext& context, RailResources& resources, WatchList& watches, PathReport& report,
           Completions& completions, const Neighbours& neighbours)
      : context_(context),
        resources_(resources),
        watches_(watches),
        report_(report),
        completions_(completions),
        rendezvous_(neighbours.rendezvous),
        connector_(neighbours.connector),
        alternates_(neighbours.alternates),
        containment_(neighbours.containment),
        addresses_(neighbours.addresses) {}

  // The subchannel does not work (any more). Nothing when that is known.
  void fail(Subchannel& subchannel, PathReason reason);
  // The same at the next look at the timers, for those who may not lose it under their hands.
  void fail_soon(Subchannel& subchannel);
  // The marker came back: everything that had arrived was handled.
  void on_marker(Subchannel& subchannel);
  // A fence or its answer, by packet or datagram.
  void on_message(VirtualChannel& peer, bool fence, std::span<const std::byte> body);
  // A port came back: a fence that waits for its answer need not wait for its next repeat.
  void fence_again(Subchannel& subchannel);
  // A state of failover whose time is up.
  void on_due(Subchannel& subchannel);
  // Requests outstanding, and none completes.
  void watch(VirtualChannel& peer);

  // Gives the peer up: everything that waits for it ends with an error.
  void lose(VirtualChannel& peer, const Error& error);
  // The first byte after a failure is on its way.
  void note_resumed(std::int64_t bytes) {
    if (resumed_) return;
    resumed_ = true;
    note_resumption(bytes);
  }

 private:
  void note_resumption(std::int64_t bytes);
  void ask_again(Subchannel& subchannel, Nanoseconds since);
  Nanoseconds silence_limit(const Subchannel& subchannel) const;
  bool silent(Subchannel& subchannel, Nanoseconds since);
  bool late(const Subchannel& subchannel, PathReason reason) const;
  bool others_get_through(Subchannel& subchannel, Nanoseconds since);
  void count_false_alarm(Subchannel& subchannel, PathReason reason);
  void resend_at_once(Subchannel& subchannel);
  void drained(Subchannel& subchannel);
  void take_off(Subchannel& subchannel);
  void on_fence(Subchannel& subchannel, const FenceBody& body);
  void send_fence(Subchannel& subchannel);
  void answer(Subchannel& subchannel, std::uint32_t incarnation, std::uint32_t received);
  void send_message(Subchannel& subchannel, bool fence, const FenceBody& body, std::uint32_t turn);
  void compare(Subchannel& subchannel, std::uint32_t received);

  RailContext& context_;
  RailResources& resources_;
  WatchList& watches_;
  PathReport& report_;
  Completions& completions_;
  Rendezvous& rendezvous_;
  Connector& connector_;
  AlternatePaths& alternates_;
  Containment& containment_;
  AddressBook& addresses_;
  bool resumed_ = true;
};

}  // namespace hawser
