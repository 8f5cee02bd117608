// Even striping (V07 4.1.2): equal stripes on all subchannels. Right where all are alike.
#include "channel/rails/policies/policies.h"

namespace hawser {
namespace {

class EvenStriping final : public SchedulingPolicy {
 public:
  explicit EvenStriping(int seat) : seat_(seat) {}
  const char* name() const override { return "even"; }
  void plan(const StripeRequest& request, std::span<const SubchannelView> views, StripePlan& plan) override {
    parts_.clear();
    for (std::size_t i = 0; i < views.size(); ++i) {
      if (!views[i].usable) continue;
      parts_.push_back({static_cast<std::uint16_t>(i), 1});
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

std::unique_ptr<SchedulingPolicy> make_even_striping(const PolicyParameters& parameters) {
  return std::make_unique<EvenStriping>(parameters.seat);
}

}  // namespace hawser
