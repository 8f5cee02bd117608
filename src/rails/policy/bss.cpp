// Batch-based striping and sorting, BSS(n_paths, n_batch) (V07 8.2): of the first n_paths usable subchannels,
// sorted by weight, the n_batch best carry the message in proportion to their weights; only theirs change
// then (equation 8.3, PathWeights), so that a path turning hot sinks in the order and others come up.
#include <algorithm>

#include "rails/policy/policies.h"

namespace hawser {
namespace {

class Bss final : public SchedulingPolicy {
 public:
  explicit Bss(const PolicyParameters& parameters)
      : paths_(static_cast<std::size_t>(parameters.first)),
        batch_(static_cast<std::size_t>(parameters.second)),
        rotation_(parameters.rotation) {}
  const char* name() const override { return "bss"; }
  void plan(const StripeRequest& request, std::span<const SubchannelView> views, StripePlan& plan) override {
    parts_.clear();
    for (std::size_t i = 0; i < views.size() && parts_.size() < paths_; ++i)
      if (views[i].usable) parts_.push_back({static_cast<std::uint16_t>(i), views[i].bytes_per_second});
    const std::size_t batch = std::min(batch_, parts_.size());
    std::partial_sort(parts_.begin(), parts_.begin() + static_cast<std::ptrdiff_t>(batch), parts_.end(),
                      [](const Weighted& a, const Weighted& b) {
                        return a.weight != b.weight ? a.weight > b.weight : a.subchannel < b.subchannel;
                      });
    parts_.resize(batch);
    cut_by_weight(request, parts_, plan);
  }
  int choose(std::int64_t, TrafficClass, std::span<const SubchannelView> views) override {
    return fastest_usable(views, rotation_);
  }
  PacketHold hold(int chosen, std::int64_t bytes, std::span<const SubchannelView> views) const override {
    return hold_fastest(chosen, bytes, views);
  }

 private:
  std::size_t paths_;
  std::size_t batch_;
  int rotation_;
  std::vector<Weighted> parts_;
};

}  // namespace

std::unique_ptr<SchedulingPolicy> make_bss(const PolicyParameters& parameters) {
  return std::make_unique<Bss>(parameters);
}

}  // namespace hawser
