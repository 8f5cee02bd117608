// AdapterRecovery: an adapter had a fatal error. Its connections fail and are drained as others are; then
// everything that was made from it is destroyed and it is given back, so that it can be reset; then opening
// it is tried again and again, with pauses. When that works, its rails live again: memory is registered anew,
// also that of transfers under way, whose peers are told the new keys; its ports count as come back.
//
//   well -> failing (connections are drained) -> closed -> well
//
// When no adapter is left, and none could be opened for the time of the knob `rail_adapters_give_up`, all
// peers are lost: no other end can tell this process that it is alone.
//
// Keys bear the device generation of their rail (RailAddress::device_generation), and a connection knows that
// of the rail at its other end: nobody uses a key of an earlier one, whatever arrives first, the connection
// or the new key.
#pragma once

#include <cstdint>
#include <vector>

#include "base/time.h"
#include "rails/datapath/peer_table.h"
#include "rails/datapath/rail_context.h"
#include "rails/datapath/rail_resources.h"
#include "rails/datapath/timer_list.h"
#include "rails/protocol/remote_windows.h"
#include "rails/protocol/rendezvous.h"

namespace hawser {

class Connector;
class Failover;

class AdapterRecovery {
 public:
  AdapterRecovery(RailContext& context, RailResources& resources, const PeerTable& peers, TimerList& timers,
                  Rendezvous& rendezvous, RemoteWindows& windows, Failover& failover, Connector& connector)
      : context_(context),
        resources_(resources),
        peers_(peers),
        timers_(timers),
        rendezvous_(rendezvous),
        windows_(windows),
        failover_(failover),
        connector_(connector) {}

  // The adapter is dead, and its rails are marked so.
  void on_fatal(std::uint16_t device);
  // What is to be done by the time of now.
  void progress();
  Nanoseconds deadline() const;  // when progress has something to do; never: not by itself

 private:
  enum class State : std::uint8_t { well, failing, closed };
  struct Adapter {
    State state = State::well;
    std::uint32_t attempts = 0;  // to open it
    Nanoseconds due = never;     // the next one
    Nanoseconds died = never;    // never: it has not
  };
  Nanoseconds alone_since() const;
  void lose_all();
  bool in_use(std::uint16_t device) const;
  void close(std::uint16_t device);
  void give_back(std::uint16_t device);
  void try_to_open(std::uint16_t device);
  bool make_again(std::uint16_t device);

  RailContext& context_;
  RailResources& resources_;
  const PeerTable& peers_;
  TimerList& timers_;
  Rendezvous& rendezvous_;
  RemoteWindows& windows_;
  Failover& failover_;
  Connector& connector_;
  std::vector<Adapter> adapters_;  // by number of the device
};

}  // namespace hawser
