// Adaptive striping, HSAM (V07 7.1.2): stripes in proportion to the weights of equation 7.4, which
// PathWeights keeps up from the times that stripes take: those of the next message all finish at about the
// same time.
#include "channel/rails/policies/policies.h"

namespace hawser {
namespace {

class AdaptiveStriping final : public SchedulingPolicy {
 public:
  explicit AdaptiveStriping(int seat) : seat_(seat) {}
  const char* name() const override { return "adaptive"; }
  void plan(const StripeRequest& request, std::span<const SubchannelView> views, StripePlan& plan) override {
    parts_.clear();
    for (std::size_t i = 0; i < views.size(); ++i) {
      if (!views[i].usable) continue;
      parts_.push_back({static_cast<std::uint16_t>(i), views[i].bytes_per_second});
    }
    cut_by_weight(request, parts_, plan);
  }
  int choose(std::int64_t, TrafficClass, std::span<const SubchannelView> views) override {
    return fastest_usable(views, seat_);
  }

 private:
  int seat_;
  std::vector<Weighted> parts_;
};

}  // namespace

std::unique_ptr<SchedulingPolicy> make_adaptive_striping(const PolicyParameters& parameters) {
  return std::make_unique<AdaptiveStriping>(parameters.seat);
}

}  // namespace hawser
