// SubchannelSelector: which subchannel of a virtual channel carries what goes out next. Asks the policy,
// which sees the weights and what is queued, and keeps its choice for small packets while nothing changes
// that the policy looked at.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "rails/datapath/rail_context.h"
#include "rails/datapath/subchannel.h"
#include "rails/decision/path_spread.h"
#include "rails/decision/path_weights.h"
#include "rails/policy/scheduling_policy.h"

namespace hawser {

class SubchannelSelector {
 public:
  // `subchannels` stay where they are, and outlive this; they are complete.
  SubchannelSelector(const RailContext& context, ProcessIndex peer, std::deque<Subchannel>& subchannels,
                     std::unique_ptr<SchedulingPolicy> policy);

  // How many are ready; how many of these are suspected.
  int ready() const { return ready_; }
  int suspected() const { return suspected_; }
  // Whether all adapters of it can read remote memory.
  bool reads() const;
  void on_ready() {
    ++ready_;
    choice_.subchannel = nullptr;
  }
  void on_not_ready() {
    --ready_;
    choice_.subchannel = nullptr;
  }
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
  SchedulingPolicy& policy() { return *policy_; }
  PathWeights& weights() { return weights_; }
  // Whether some rail has several, of which those are used that were measured to be good.
  bool several() const { return !spreads_.empty(); }
  // A stripe is about to be posted; one was done, and is not queued any more.
  void on_stripe_posted(const Subchannel& subchannel, WorkEntry& entry) {
    if (several())
      entry.before.spread = spreads_[subchannel.place.pair].on_posted(
          entry.size, subchannel.rail.traffic.bytes_queued, context_.now);
  }
  void on_stripe_done(const Subchannel& subchannel, const WorkEntry& entry);
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
           s->rail.traffic.bytes_queued <= choice.hold.most_queued && choice.weights == weights_.changes() &&
           choice.traffic == traffic && s->machine().state() == SubchannelState::ready &&
           s->room_for(1, depth_);
  }
  Subchannel* choose_anew(std::int64_t bytes, TrafficClass traffic);
  void make_spreads(ProcessIndex peer);

  const RailContext& context_;
  std::deque<Subchannel>& subchannels_;
  std::unique_ptr<SchedulingPolicy> policy_;
  PathWeights weights_;
  std::vector<PathSpread> spreads_;  // by pair of rails; none if each has one subchannel
  std::vector<SubchannelView> views_;
  int ready_ = 0;
  int suspected_ = 0;
  Choice choice_;
  std::uint32_t turns_[2] = {};  // of writes, of reads
  const std::int32_t depth_;     // of send queues
};

}  // namespace hawser
