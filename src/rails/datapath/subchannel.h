// Subchannel: one connected queue pair of a virtual channel, on one rail and path. Its machine
// (subchannel_machine.h) has all protocol state; only the driver in the floor above can send it events.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

#include "access/rdma.h"
#include "rails/datapath/alternate_path.h"
#include "rails/datapath/rail.h"
#include "rails/datapath/rail_context.h"
#include "rails/datapath/work_entry.h"
#include "rails/decision/congestion_window.h"
#include "rails/decision/path_silence.h"
#include "rails/decision/subchannel_machine.h"
#include "rails/wire/packet.h"
#include "rails/wire/pairing.h"

namespace hawser {

class VirtualChannel;

// One connection of a virtual channel; the default names none.
struct ConnectionName {
  std::uint16_t subchannel = 0;
  std::uint32_t connection_generation = 0;
  bool operator==(const ConnectionName&) const = default;
};

namespace rails_test {
class MachineAccess;
}

// What one connection of a subchannel was made with.
struct SubchannelEnds {
  rdma::LocalEnd own;                         // of the port that it goes through, when it was connected
  std::uint8_t path_mtu = 0;                  // as told to the peer (ConnectionEnd)
  std::uint32_t psn = 0;                      // that this end's first packet on the link has
  std::uint8_t remote_device_generation = 0;  // of the rail there
  std::uint8_t outstanding_reads = 1;         // that the adapters have under way; then requests wait
  std::int32_t receives_wanted = 0;           // on its rail, for this subchannel
};

// What is posted on a subchannel and not completed, and how what was posted fared.
struct SubchannelTraffic {
  SubchannelTraffic(const FlowSettings& stripes, const FlowSettings& packets)
      : stripe_flow(stripes), packet_flow(packets) {}

  void add(WorkEntry& entry, RailTraffic& rail) {
    count(entry, rail, 1);
    in_flight.push_back(&entry);
  }
  void remove(WorkEntry& entry, RailTraffic& rail) {
    in_flight.remove(&entry);
    count(entry, rail, -1);
  }
  QueuedBytes queued() const { return {bytes_queued, bytes_read}; }
  // No request is in flight any more, though entries may wait for the peer to say what became of them.
  void clear_counts(RailTraffic& rail) {
    rail.outstanding -= outstanding;
    if (bytes_read > 0) rail.add_stripe(-bytes_read, PortSide::in);
    if (bytes_queued > bytes_read) rail.add_stripe(bytes_read - bytes_queued, PortSide::out);
    rail.packet_bytes -= packet_bytes;
    outstanding = reads = 0;
    bytes_queued = bytes_read = packet_bytes = 0;
  }
  // The longest that a request took of late; -1: none was done.
  Nanoseconds slowest() const {
    return stripe_flow.measured() || packet_flow.measured()
               ? std::max(stripe_flow.slowest(), packet_flow.slowest())
               : -1;
  }

  EntryList in_flight;
  std::int32_t outstanding = 0;           // requests; a stripe that is written counts two
  std::int32_t reads = 0;                 // of these
  std::int64_t bytes_queued = 0;          // of stripes
  std::int64_t bytes_read = 0;            // of these, such as are read
  std::int64_t packet_bytes = 0;          // of packets under way
  std::uint32_t posted_bytes = 0;         // of packets, ever
  std::uint32_t timed_from = UINT32_MAX;  // PacketTimes::timed_from(), if there are several rails
  CongestionWindow stripe_flow;
  CongestionWindow packet_flow;
  std::uint32_t sent = 0;      // packets posted in this generation
  std::uint32_t received = 0;  // packets that arrived in this generation
  Nanoseconds last_completion = 0;
  Nanoseconds last_arrival = 0;
  Nanoseconds last_proof = 0;  // when the request was posted that was found done last

 private:
  void count(const WorkEntry& entry, RailTraffic& rail, int sign) {
    outstanding += sign * entry.requests();
    if (entry.kind == WorkEntry::Kind::read || entry.kind == WorkEntry::Kind::confirmation) reads += sign;
    rail.outstanding += sign * entry.requests();
    if (counts_as_packet(entry)) {
      packet_bytes += sign * static_cast<std::int64_t>(entry.bytes);
      rail.packet_bytes += sign * static_cast<std::int64_t>(entry.bytes);
      if (sign > 0) {
        posted_bytes += entry.bytes;
        rail.packets.posted += entry.bytes;
      }
    } else if (entry.kind != WorkEntry::Kind::marker) {
      const PortSide side = side_of(entry);
      bytes_queued += sign * entry.size;
      if (side == PortSide::in) bytes_read += sign * entry.size;
      rail.add_stripe(sign * entry.size, side);
    }
  }
};

struct Subchannel;

// The puts of a connection, which lie in the peer's memory for certain when a read behind them on the same
// queue pair was carried out.
struct PutTrail {
  explicit PutTrail(Subchannel& of) : subchannel(of) {}

  Subchannel& subchannel;
  EntryList acknowledged;          // done as far as the peer's adapter says; in order
  std::uint32_t posted = 0;        // puts in this generation
  std::int64_t unconfirmed = 0;    // bytes of them
  std::int64_t uncovered = 0;      // of these, such as are behind the last confirmation
  std::int32_t confirmations = 0;  // in flight
  std::uint64_t last_address = 0;  // of the bytes at the peer that the last put writes,
  std::uint32_t last_key = 0;      // and their key
  ListLink uncovered_link;         // into PutConfirmations
};

struct Subchannel {
  Subchannel(VirtualChannel& virtual_channel, Rail& local_rail, const SubchannelPlace& its_place,
             std::uint16_t its_index, RailContext& context, bool drives)
      : peer(virtual_channel),
        rail(local_rail),
        place(its_place),
        index(its_index),
        remote_rail(its_place.remote),
        traffic(context.stripe_flow, context.packet_flow),
        machine_(context.subchannels, context.health, context.random, drives) {}

  const SubchannelMachine& machine() const { return machine_; }
  bool connected() const { return machine_.connected(); }
  // May carry anything.
  bool in_service() const { return machine_.in_service(); }
  // Nothing of this end's is under way, and puts are confirmed.
  bool flushed() const {
    return traffic.in_flight.empty() &&
           (puts == nullptr || (puts->acknowledged.empty() && !puts->uncovered_link.linked()));
  }
  std::uint32_t connection_generation() const { return machine_.connection_generation(); }
  ConnectionName name() const { return {index, machine_.connection_generation()}; }
  // Whether it goes through this port now, or would once it is connected.
  bool uses(const Rail& port) const {
    return connected() ? port.device_number() == rail.device_number() && port.port() == route.port
                       : &port == &rail;
  }
  // An entry was posted.
  void add(WorkEntry& entry) {
    entry.subchannel = this;
    entry.connection_generation = connection_generation();
    traffic.add(entry, rail.traffic);
  }
  // Whether `requests` more may be posted. One request of the depth is kept for the marker.
  [[gnu::always_inline]] bool room_for(std::int32_t requests, std::int32_t depth) const {
    return traffic.outstanding + requests < depth && !machine_.broken() && rail.traffic.room_for(requests);
  }
  VirtualChannel& peer;
  Rail& rail;
  const SubchannelPlace place;
  const std::uint16_t index;        // among the subchannels of the virtual channel; the same at both ends
  const std::uint16_t remote_rail;  // number there

  std::unique_ptr<rdma::QueuePair> queue_pair;
  std::unique_ptr<AlternatePath> alternate;  // of a queue pair that may migrate
  rdma::Route route;                         // that it takes now; port may not be that of the rail any more
  SubchannelEnds ends;

  SubchannelTraffic traffic;
  std::unique_ptr<PutTrail> puts;  // null: there were none
  PathSilence silence;
  ConnectionName fenced_over;  // the connection over which the last fence went as a packet

  int status_row = -1;
  ListLink timer_link;  // into TimerList

 private:
  friend class SubchannelDriver;
  friend class VirtualChannel;  // restores it
  friend class rails_test::MachineAccess;
  SubchannelMachine machine_;
};

inline constexpr std::uint32_t others_under_way = UINT32_MAX;
// Bytes of packets that were ever posted on the other subchannels of the rail, modulo 2^32; others_under_way
// if some are.
inline std::uint32_t posted_by_others(const Subchannel& subchannel) {
  const RailTraffic& rail = subchannel.rail.traffic;
  if (rail.packet_bytes != subchannel.traffic.packet_bytes) return others_under_way;
  return rail.packets.posted - subchannel.traffic.posted_bytes;
}

}  // namespace hawser
