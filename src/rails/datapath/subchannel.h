// Subchannel: one connected queue pair of a virtual channel, on one rail and path. Who moves it from state to
// state is connector.h (up) and failover.h (down).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "access/rdma.h"
#include "rails/datapath/alternate_path.h"
#include "rails/datapath/rail.h"
#include "rails/datapath/work_entry.h"
#include "rails/decision/flow_window.h"
#include "rails/decision/path_health.h"
#include "rails/wire/packet.h"

namespace hawser {

class VirtualChannel;

enum class SubchannelState : std::uint8_t {
  closed,      // never connected yet, and nobody asked
  connecting,  // this end asked; its queue pair waits for the answer
  accepted,    // the peer asked; connected, but it is not known whether the peer is
  probing,     // connected again after a failure; data must pass first
  ready,       // in use
  stopping,    // failed; its requests are being flushed
  fencing,     // drained; the peer has to say what it received
  failed,      // nothing is left of it but the memory of its last incarnation
};
const char* subchannel_state_name(SubchannelState state);

// One connection of a virtual channel; the default names none.
struct IncarnationName {
  std::uint16_t subchannel = 0;
  std::uint32_t incarnation = 0;
  bool operator==(const IncarnationName&) const = default;
};

struct Subchannel {
  Subchannel(VirtualChannel& virtual_channel, Rail& local_rail, const HealthSettings& settings,
             const FlowSettings& stripes, const FlowSettings& packets, Random& random)
      : peer(virtual_channel),
        rail(local_rail),
        stripe_flow(stripes),
        packet_flow(packets),
        health(settings, random) {}

  bool connected() const {
    return state == SubchannelState::accepted || state == SubchannelState::probing ||
           state == SubchannelState::ready;
  }
  IncarnationName name() const { return {index, incarnation}; }
  // Whether it goes through this port now, or would once it is connected.
  bool uses(const Rail& port) const {
    return connected() ? port.device_number() == rail.device_number() && port.port() == route.port
                       : &port == &rail;
  }
  // Whether `requests` more may be posted. One request of the depth is kept for the marker.
  bool room_for(std::int32_t requests, std::int32_t depth) const {
    return outstanding + requests < depth && !broken && rail.room_for(requests);
  }

  VirtualChannel& peer;
  Rail& rail;
  std::uint16_t index = 0;        // among the subchannels of the virtual channel; the same at both ends
  std::uint16_t remote_rail = 0;  // number there
  std::uint16_t pair = 0;         // of rails
  std::uint16_t path = 0;
  std::uint16_t engine = 0;

  SubchannelState state = SubchannelState::closed;
  std::uint32_t incarnation = 0;  // of the present connection or attempt; at first 0
  std::unique_ptr<rdma::QueuePair> queue_pair;
  std::unique_ptr<AlternatePath> alternate;  // of a queue pair that may migrate
  rdma::Route route;                         // that it takes now; port may not be that of the rail any more
  rdma::LocalEnd own_end;                    // of that port when it was connected
  std::uint8_t remote_life = 0;              // of the rail there, when it was connected
  std::uint32_t packet_number = 0;           // that this end's first packet on the link has

  EntryList in_flight;
  std::int32_t outstanding = 0;   // requests; a stripe that is written counts two
  std::int64_t bytes_queued = 0;  // of stripes
  std::int64_t packet_bytes = 0;  // of packets under way
  FlowWindow stripe_flow;
  FlowWindow packet_flow;
  std::uint32_t sent = 0;      // packets posted in this incarnation
  std::uint32_t received = 0;  // packets that arrived in this incarnation
  Nanoseconds last_completion = 0;
  Nanoseconds last_proof = 0;  // when the request was posted that was found done last
  bool poisoned = false;       // a packet was damaged: neither it nor any later one counts
  bool broken = false;         // to be failed at the next look at the timers

  // Failover. Of the last incarnation that was connected and drained here, for a fence that comes (again).
  std::uint32_t fenced_incarnation = 0;
  std::uint32_t fenced_received = 0;
  std::optional<std::uint32_t> peer_received;  // of the present incarnation; its end is drained
  IncarnationName fenced_over;                 // the connection over which the last fence went as a packet
  bool answer_wanted = false;
  std::uint32_t answers = 0;
  std::uint64_t marker = 0;  // work id
  Nanoseconds stopped = 0;

  // Containment: not used while the peer is reached otherwise, until a test is delivered.
  bool suspected = false;
  std::optional<std::uint64_t> test;  // work id of the packet; delivered when it is not in flight any more
  Nanoseconds suspicion_due = never;
  Nanoseconds suspicion_look = 0;

  // Congestion may look like a failure. The longest that a request took of late; -1: none was done.
  Nanoseconds slowest() const {
    return stripe_flow.measured() || packet_flow.measured()
               ? std::max(stripe_flow.slowest(), packet_flow.slowest())
               : -1;
  }
  // How often it failed in a row when the network may only have been crowded: it gets more time each time.
  std::uint8_t false_alarms = 0;
  Nanoseconds asked_again = 0;      // when a packet was last sent behind one that is not acknowledged
  Nanoseconds others_through = -1;  // while it is silent: since when others are known to get through

  // Recovery.
  PathHealth health;
  bool receives_wanted = false;  // on its rail, for this subchannel
  bool failed_before = false;    // when it was connected, so that the next connection is a recovery
  std::uint32_t probes_sent = 0;
  std::uint32_t probes_received = 0;
  std::uint32_t probes_wanted = 0;

  int status_row = -1;
  Nanoseconds due = never;  // drain time-out, next fence, end of patience with an accepted connection
  std::uint32_t repeats = 0;
  ListLink attention;  // into WatchList
};

}  // namespace hawser
