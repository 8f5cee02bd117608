// What the policies share: making them, choosing one subchannel, cutting a message by weights.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "rails/policy/scheduling_policy.h"

namespace hawser {

std::unique_ptr<SchedulingPolicy> make_binding(const PolicyParameters& parameters);
std::unique_ptr<SchedulingPolicy> make_round_robin(const PolicyParameters& parameters);
std::unique_ptr<SchedulingPolicy> make_weighted_round_robin(const PolicyParameters& parameters);
std::unique_ptr<SchedulingPolicy> make_window_round_robin(const PolicyParameters& parameters);
std::unique_ptr<SchedulingPolicy> make_even_striping(const PolicyParameters& parameters);
std::unique_ptr<SchedulingPolicy> make_weighted_striping(const PolicyParameters& parameters);
std::unique_ptr<SchedulingPolicy> make_adaptive_striping(const PolicyParameters& parameters);
std::unique_ptr<SchedulingPolicy> make_epc(const PolicyParameters& parameters);
std::unique_ptr<SchedulingPolicy> make_bss(const PolicyParameters& parameters);
std::unique_ptr<SchedulingPolicy> make_automatic(const PolicyParameters& parameters);

// A subchannel and its weight in a message, of whatever unit.
struct Weighted {
  std::uint16_t subchannel = 0;
  double weight = 0;
};

// Cuts the message over `parts` in proportion to their weights (> 0). Parts whose share would be smaller than
// smallest_stripe are dropped, lightest first, until none is or one part is left. Changes the order of
// `parts`.
void cut_by_weight(const StripeRequest& request, std::vector<Weighted>& parts, StripePlan& plan);
// The whole message on one subchannel.
void whole(const StripeRequest& request, int subchannel, StripePlan& plan);

// The first usable one at or after `start` (any number >= 0), around the end; -1: none.
int next_usable(std::span<const SubchannelView> views, std::size_t start);
// The usable one of the fastest rail, of these the least loaded, of these the first from `rotation` on; -1:
// none.
int fastest_usable(std::span<const SubchannelView> views, int rotation);
// How long that stands: some small packets may wait on one while another one is idle; larger ones may not.
PacketHold hold_fastest(int chosen, std::int64_t bytes, std::span<const SubchannelView> views);

// A policy that cuts every message over all usable subchannels, in proportion to a weight of its own.
class Striping : public SchedulingPolicy {
 public:
  explicit Striping(int rotation) : rotation_(rotation) {}
  void plan(const StripeRequest& request, std::span<const SubchannelView> views, StripePlan& plan) final;
  int choose(std::int64_t bytes, TrafficClass traffic, std::span<const SubchannelView> views) final;
  PacketHold hold(int chosen, std::int64_t bytes, std::span<const SubchannelView> views) const final {
    return hold_fastest(chosen, bytes, views);
  }

 private:
  virtual double weight(std::span<const SubchannelView> views, std::size_t index) const = 0;  // > 0

  int rotation_;
  std::vector<Weighted> parts_;
};

// Turns of the subchannels, one after the other.
class Turns {
 public:
  explicit Turns(int rotation) : next_(static_cast<std::size_t>(rotation)) {}
  int take(std::span<const SubchannelView> views) {
    const int chosen = next_usable(views, next_);
    if (chosen >= 0) next_ = static_cast<std::size_t>(chosen) + 1;
    return chosen;
  }

 private:
  std::size_t next_;
};

}  // namespace hawser
