// Weighted round robin (V07 4.1.2): whole messages; a subchannel's turns are in proportion to its weight, and
// spread as evenly as they can be: whoever waits for most of a turn is next.
#include <algorithm>

#include "rails/policy/policies.h"

namespace hawser {
namespace {

class WeightedTurns {
 public:
  int take(std::span<const SubchannelView> views) {
    if (due_.size() != views.size()) due_.assign(views.size(), 0);
    double total = 0;
    for (const SubchannelView& view : views)
      if (view.usable) total += view.bytes_per_second;
    int chosen = -1;
    for (std::size_t i = 0; i < views.size(); ++i) {
      if (!views[i].usable) {
        due_[i] = 0;  // nothing is owed to one that was away
        continue;
      }
      due_[i] = std::clamp(due_[i] + views[i].bytes_per_second / total, -1.0, 1.0);
      if (chosen < 0 || due_[i] > due_[static_cast<std::size_t>(chosen)]) chosen = static_cast<int>(i);
    }
    if (chosen >= 0) due_[static_cast<std::size_t>(chosen)] -= 1;
    return chosen;
  }

 private:
  std::vector<double> due_;  // in turns
};

class WeightedRoundRobin final : public SchedulingPolicy {
 public:
  const char* name() const override { return "weighted_round_robin"; }
  void plan(const StripeRequest& request, std::span<const SubchannelView> views, StripePlan& plan) override {
    whole(request, large_.take(views), plan);
  }
  int choose(std::int64_t, TrafficClass, std::span<const SubchannelView> views) override {
    return small_.take(views);
  }

 private:
  WeightedTurns large_;
  WeightedTurns small_;
};

}  // namespace

std::unique_ptr<SchedulingPolicy> make_weighted_round_robin(const PolicyParameters&) {
  return std::make_unique<WeightedRoundRobin>();
}

}  // namespace hawser
