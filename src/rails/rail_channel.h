// RailChannel: carries messages to processes of other nodes over all rails and paths that there are, and goes
// on when some of them fail (doc/rails.md). The door to this room.
//
// Threads: none. Time: comes in with progress(); between two calls the last one counts. The hot path
// allocates nothing. All devices belong to the channel.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "access/rdma.h"
#include "base/knobs.h"
#include "channel/channel_set.h"
#include "channel/exchange.h"
#include "channel/port_use.h"
#include "channel/transport.h"
#include "rails/attendance.h"
#include "rails/datapath/rail_settings.h"
#include "rails/status/rail_counters.h"
#include "rails/status/status_table.h"

namespace hawser {

struct RailEngine;

class RailChannel final : public Transport {
 public:
  // Opens the devices. `exchange` must outlive the channel: peers' rail tables are asked for when first
  // needed. `seed`: of jitter; unlike in each process. An error: a knob that fits
  // nothing here, or a device that cannot be opened.
  static Result<std::unique_ptr<RailChannel>> open(const RailSettings& settings, AddressExchange& exchange,
                                                   rdma::DeviceSource& devices, const Knobs& knobs,
                                                   std::uint64_t seed);
  ~RailChannel() override;

  // This process has that place among those of its node, who tell each other there which ports they use. The
  // memory outlives the channel.
  void share_ports(NodePorts& ports, int place);

  // Tells the others of the own rails; to be called before a fence, also by those that have none.
  Result<> publish();
  // After the fence: whether the peer has rails of the same kind too. Others are reached by other channels.
  bool reaches(ProcessIndex peer);

  // Of the rails of this process, whether their ports are active now or not.
  LinkRates link_rates() const;

  // Sleeping: when a pass moved nothing, arm(), make one more pass, and if that moved nothing either, sleep
  // until one of the descriptors is readable or deadline(). Descriptors stay the same, one per device; none
  // where nobody can sleep.
  std::vector<int> descriptors() const override;
  Result<> arm(Wake wake) override;
  bool awaits_more_than_armed() const override;
  void set_alarm(DeadlineAlarm* alarm) override;

  RailAttendance& attendance() { return attendance_; }
  const RailCounters& counters() const;
  // Whether nothing is under way, held or registered and all buffers are back: what must be so at the end of
  // a run. Fills in what is not.
  bool quiescent(std::string* why = nullptr) const;
  void check_invariants() const;
  // What the two ends of a virtual channel must agree on when both are at rest: sequenced packets sent there
  // are those delivered here, and no more of them are under way than the sender was not told of.
  struct SequenceCounters {
    std::uint32_t sent = 0, under_way = 0;
    std::uint32_t delivered = 0, acknowledged_to_peer = 0;
    bool lost = false;
  };
  SequenceCounters sequence_counters(ProcessIndex peer) const;
  // The state of every subchannel, a line each, for people.
  std::string describe() const;

  const char* name() const override { return "rails"; }
  std::int64_t eager_limit(ProcessIndex peer) const override;
  bool try_send(ProcessIndex peer, const TransportHeader& header, const ByteSequence& payload) override;
  bool try_expose(ProcessIndex peer, const TransportHeader& header, const ByteSequence& bytes,
                  Completion* end) override;
  void fetch(ProcessIndex peer, const ExposeToken& token, const ByteSequence& into, Completion* end) override;
  // Null where this process has no rail.
  RemoteMemory* remote_memory() override;
  bool progress(TransportEvents& events, Nanoseconds now) override;
  Nanoseconds deadline() const override;
  bool flushed() const override;

 private:
  // For who knows it as a Transport.
  Multicast* multicast() override;
  std::vector<ChannelCounter> list_counters() const override;
  explicit RailChannel(std::unique_ptr<RailEngine> engine);
  void give_up(ProcessIndex peer, const Error& error, TransportEvents& events) override;
  friend DistancesSeen distances_of(const RailChannel& channel);
  std::unique_ptr<RailEngine> engine_;
  bool armed_for_solicited_ = false;  // only; since it was armed last
  RailAttendance attendance_;
};

// Of all peers to which a round trip is known.
DistancesSeen distances_of(const RailChannel& channel);

}  // namespace hawser
