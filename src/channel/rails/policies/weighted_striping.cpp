// Weighted striping (V07 4.1.2): stripes in proportion to the nominal rates, which never change; the
// subchannels of a rail share its rate. Right where rails are unlike and nobody else uses them.
#include "channel/rails/policies/policies.h"

namespace hawser {
namespace {

// What one subchannel has of its rail's rate: an equal part with each usable one of the rail.
double nominal_share(std::span<const SubchannelView> views, std::size_t index) {
  const SubchannelView& view = views[index];
  if (view.nominal <= 0) return view.bytes_per_second;
  int sharing = 0;
  for (const SubchannelView& other : views) sharing += other.usable && other.rail == view.rail;
  return view.nominal / sharing;
}

class WeightedStriping final : public SchedulingPolicy {
 public:
  explicit WeightedStriping(int seat) : seat_(seat) {}
  const char* name() const override { return "weighted"; }
  void plan(const StripeRequest& request, std::span<const SubchannelView> views, StripePlan& plan) override {
    parts_.clear();
    for (std::size_t i = 0; i < views.size(); ++i)
      if (views[i].usable) parts_.push_back({static_cast<std::uint16_t>(i), nominal_share(views, i)});
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

std::unique_ptr<SchedulingPolicy> make_weighted_striping(const PolicyParameters& parameters) {
  return std::make_unique<WeightedStriping>(parameters.seat);
}

}  // namespace hawser
