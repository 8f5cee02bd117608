// SubchannelSelector: which subchannel of a virtual channel carries what goes out next. Asks the policy,
// which sees the weights and what is queued, and keeps its choice for small packets while nothing changes
// that the policy looked at.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "rails/datapath/rail_context.h"
#include "rails/datapath/subchannel.h"
#include "rails/decision/packet_engines.h"
#include "rails/decision/packet_times.h"
#include "rails/decision/path_spread.h"
#include "rails/decision/path_weights.h"
#include "rails/decision/rail_latencies.h"
#include "rails/policy/scheduling_policy.h"

namespace hawser {

// A packet that tells how far a rail is, rather than how fast a path is.
inline bool times_latency(const WorkEntry& entry) {
  return entry.kind == WorkEntry::Kind::packet && entry.packet_kind == PacketKind::measure &&
         entry.bytes == sizeof(PacketHeader);
}

// What a process takes for a completion, generously: 250 ns, estimated from the instructions of a message
// (experiment/README.md, collective_choice).
inline constexpr Nanoseconds time_of_completion = 300;
// Of what goes over a pair of rails this is timed.
inline bool stands_for_rail(const Subchannel& subchannel) {
  return subchannel.place.path == 0 && subchannel.place.engine == 0;
}

class SubchannelSelector {
 public:
  // `subchannels` stay where they are, and outlive this; on_made tells each of them.
  SubchannelSelector(RailContext& context, ProcessIndex peer, std::deque<Subchannel>& subchannels,
                     std::unique_ptr<SchedulingPolicy> policy);

  // How many are not on demand.
  std::int32_t at_once() const { return at_once_; }
  // How many are ready; how many of these are suspected.
  int ready() const { return ready_; }
  int suspected() const { return suspected_; }
  // Whether all adapters of it can read remote memory.
  bool reads() const;
  void on_suspected() {
    ++suspected_;
    choice_.subchannel = nullptr;
  }
  void on_cleared() {
    --suspected_;
    choice_.subchannel = nullptr;
  }

  // What the policies see; bytes_per_second are the weights. Usable: takes so many more requests. Queued is
  // what loads the rail in these directions.
  std::span<SubchannelView> views(std::int32_t requests, Load load = Load::both);
  // To these how much farther their rails are than the nearest, so many times.
  void add_distances(std::span<SubchannelView> usable, int ways) const;
  SchedulingPolicy& policy() { return *policy_; }
  PathWeights& weights() { return weights_; }
  // Whether bytes that are posted later may find a better one of them.
  bool restless() const { return restless_; }
  // Whether a stripe may be posted there that has so much of the peer's ahead of it.
  bool admits(const Subchannel& subchannel, std::int64_t under_way) {
    return !several() || under_way < spread_of(subchannel).most_under_way();
  }
  // A stripe is about to be posted; one was done, and is not queued any more.
  void on_stripe_posted(const Subchannel& subchannel, WorkEntry& entry, std::int64_t movable) {
    if (!several()) return;
    PathSpread& spread = spread_of(subchannel);
    entry.before.spread = spread.on_posted(entry.size, subchannel.rail.traffic.bytes_queued, context_.now,
                                           movable, subchannel.rail.traffic.use.shared(side_of(entry)));
    if (context_.open_reads.exposed > 0) spread.on_opposed();
  }
  // A packet that was timed was done, and was not yet then.
  void on_packet_timed(Subchannel& subchannel, const WorkEntry& entry, Nanoseconds not_before);
  void on_stripe_done(const Subchannel& subchannel, const WorkEntry& entry);
  // Whether a packet that carries nothing should go that way now, to tell how far the rail is.
  bool lacks_latency(const Subchannel& subchannel) const;
  RailLatencies& latencies() { return latencies_; }
  // While packets wait for each other, each that is done is to be told, and when it was not done yet. True:
  // more connections are wanted.
  bool measures_packets() const { return packet_engines_ != nullptr && packet_engines_->measuring(); }
  bool on_packet_done(const Subchannel& subchannel, Nanoseconds not_before);
  // Whether some are wanted that are not open: the next one.
  struct Wanted {
    int pair, path, engine;
  };
  bool wants_more() const { return wants_more_; }
  std::optional<Wanted> wanted() const;
  // None of them can be had now.
  void on_refused();
  // A subchannel for a packet of this size; null: none has room.
  Subchannel* choose(std::int64_t bytes, TrafficClass traffic) {
    if (choice_holds(bytes, traffic)) [[likely]] {
      --choice_.hold.packets;
      return choice_.subchannel;
    }
    return choose_anew(bytes, traffic);
  }
  // The next one, in turn, that may be used; null: none. The directions take turns of their own: of a put, a
  // get and so on, all puts would go over one of two rails, and all gets over the other one.
  template <class MayBeUsed>
  Subchannel* next_in_turn(Direction direction, MayBeUsed&& may_be_used) {
    std::uint32_t& turn = turns_[direction == Direction::write ? 0 : 1];
    const std::size_t count = subchannels_.size();
    for (std::size_t i = 0; i < count; ++i) {
      Subchannel& subchannel = subchannels_[(turn + i) % count];
      if (!may_be_used(subchannel)) continue;
      turn = subchannel.index + 1u;
      return &subchannel;
    }
    return nullptr;
  }

 private:
  friend class VirtualChannel;  // opens bundles, and tells of its subchannels:
  void on_made(const Subchannel& subchannel);
  void on_ready(const Subchannel& subchannel);
  void on_not_ready(const Subchannel& subchannel);
  // Whether several packets are under way where the last one went, or on unlike rails together.
  bool crowded() const {
    if (choice_.subchannel == nullptr) return false;
    const std::int32_t outstanding =
        latencies_.differ() ? outstanding_of_all() : choice_.subchannel->traffic.outstanding;
    return outstanding >= context_.settings.bundles_behind;
  }
  // Whether some rail has several, or would have on demand, of which those are used that were measured to be
  // good.
  bool several() const { return several_; }
  std::int32_t outstanding_of_all() const;
  struct Choice {
    Subchannel* subchannel = nullptr;
    PacketHold hold;
    std::uint32_t weights = 0;  // PathWeights::changes() of then
    TrafficClass traffic = TrafficClass::blocking;
  };
  bool choice_holds(std::int64_t bytes, TrafficClass traffic) const {
    const Choice& choice = choice_;
    const Subchannel* const s = choice.subchannel;
    // Stripes on the subchannel itself may be overdue, which is a change of its weight.
    return s != nullptr && choice.hold.packets > 0 && bytes <= choice.hold.most_bytes &&
           s->traffic.outstanding < choice.hold.most_requests && s->traffic.bytes_queued == 0 &&
           s->traffic.packet_bytes >= choice.hold.least_ahead &&
           s->rail.traffic.bytes_queued <= choice.hold.most_queued &&
           packet_wait(*s) <= choice.hold.most_wait && choice.weights == weights_.changes() &&
           choice.traffic == traffic && s->machine().state() == SubchannelState::ready &&
           s->room_for(1, depth_);
  }
  // Until a packet that is posted now leaves: by the rate of the port, for packets to all peers, or by what
  // this peer's own took.
  Nanoseconds packet_wait(const Subchannel& subchannel) const {
    const SubchannelTraffic& traffic = subchannel.traffic;
    return std::max(subchannel.rail.traffic.packets_until - context_.now,
                    traffic.packet_flow.wait(traffic.packet_bytes, context_.now));
  }
  const Subchannel& first_engine_of(const Subchannel& subchannel) const;
  PacketTimes& times_of(const Subchannel& subchannel) {
    return packet_times_[first_engine_of(subchannel).index];
  }
  double timed_rate(const Subchannel& subchannel, double fastest);
  void share_moved();
  Subchannel* choose_anew(std::int64_t bytes, TrafficClass traffic);
  Subchannel* on_trial(std::int64_t bytes, std::span<const SubchannelView> usable);
  void look_at_latencies(std::int64_t bytes, std::span<SubchannelView> usable) const;
  bool waits_for_receiver(std::int64_t bytes) const;
  void limit_hold(const Subchannel& chosen, std::int64_t bytes);
  bool times_only_rail(const Subchannel& subchannel) const {
    return latencies_.rails() == 1 && stands_for_rail(subchannel) && latencies_.lacks(0);
  }
  PeerTimes times_beside(const Subchannel& subchannel) const;
  void choose_timed(Subchannel& subchannel);
  bool tells_latency(const Subchannel& subchannel, const WorkEntry& entry) const;
  void note_latency(const Subchannel& subchannel, const WorkEntry& entry, Nanoseconds least);
  bool judges_engines() const;
  void keep_to_engines(std::span<SubchannelView> usable) const;
  void keep_off_slow_paths(std::span<SubchannelView> usable) const;
  void judge_path(const Subchannel& subchannel, const TimedPacket& packet);
  void doubt_others(const Subchannel& judged, double rate, Nanoseconds not_used_since);
  void note_packet(const Subchannel& subchannel);
  PacketLoad packet_load() const;
  void look_at_engines();
  void begin_engines();
  PathSpread& spread_of(const Subchannel& subchannel) {
    if (spreads_.empty()) [[unlikely]]
      make_spreads();
    return spreads_[subchannel.place.pair];
  }
  // Whether short stripes and packets tell how much of a message each rail gets, too.
  bool compares_stripes() const { return rails_ && !several_paths_; }
  void leave_rails_to_stripes();
  bool prefers(const Subchannel& subchannel) const;
  std::uint64_t seed() const;
  void make_spreads();
  void look_for_wanted();

  RailContext& context_;
  const ProcessIndex peer_;
  std::deque<Subchannel>& subchannels_;
  std::unique_ptr<SchedulingPolicy> policy_;
  PathWeights weights_;
  std::vector<PacketTimes> packet_times_;  // by subchannel
  RailLatencies latencies_;                // by pair of rails
  std::vector<PathSpread> spreads_;  // by pair of rails; none if not several() or before the first stripe
  std::unique_ptr<PacketEngines>
      packet_engines_;  // null: packets had not to wait, or it is not for us to say
  std::vector<SubchannelView> views_;
  std::int32_t at_once_ = 0;
  bool several_ = false;
  bool rails_ = false;          // several, of one open path each: packets tell how fast each is
  bool several_paths_ = false;  // of some rail, perhaps on demand
  bool paths_ = false;          // one rail of several: packets tell which of them are slow
  bool restless_ = false;
  bool wants_more_ = false;
  int ready_ = 0;
  int suspected_ = 0;
  Choice choice_;
  std::uint32_t turns_[2] = {};  // of writes, of reads
  const std::int32_t depth_;     // of send queues
};

}  // namespace hawser
