// Adaptive striping, HSAM (V07 7.1.2): stripes in proportion to the weights of equation 7.4, which
// PathWeights keeps up from the times that stripes take: those of the next message all finish at about the
// same time.
#include "rails/policy/policies.h"

namespace hawser {
namespace {

class AdaptiveStriping final : public Striping {
 public:
  using Striping::Striping;
  const char* name() const override { return "adaptive"; }

 private:
  double weight(std::span<const SubchannelView> views, std::size_t index) const override {
    return views[index].bytes_per_second;
  }
};

}  // namespace

std::unique_ptr<SchedulingPolicy> make_adaptive_striping(const PolicyParameters& parameters) {
  return std::make_unique<AdaptiveStriping>(parameters.rotation);
}

}  // namespace hawser
