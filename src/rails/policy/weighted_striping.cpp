// Weighted striping (V07 4.1.2): stripes in proportion to the nominal rates, which never change; the
// subchannels of a rail share its rate. Right where rails are unlike and nobody else uses them.
#include "rails/policy/policies.h"

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

class WeightedStriping final : public Striping {
 public:
  using Striping::Striping;
  const char* name() const override { return "weighted"; }

 private:
  double weight(std::span<const SubchannelView> views, std::size_t index) const override {
    return nominal_share(views, index);
  }
};

}  // namespace

std::unique_ptr<SchedulingPolicy> make_weighted_striping(const PolicyParameters& parameters) {
  return std::make_unique<WeightedStriping>(parameters.rotation);
}

}  // namespace hawser
