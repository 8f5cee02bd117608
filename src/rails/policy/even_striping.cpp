// Even striping (V07 4.1.2): equal stripes on all subchannels. Right where all are alike.
#include "rails/policy/policies.h"

namespace hawser {
namespace {

class EvenStriping final : public Striping {
 public:
  using Striping::Striping;
  const char* name() const override { return "even"; }

 private:
  double weight(std::span<const SubchannelView>, std::size_t) const override { return 1; }
};

}  // namespace

std::unique_ptr<SchedulingPolicy> make_even_striping(const PolicyParameters& parameters) {
  return std::make_unique<EvenStriping>(parameters.rotation);
}

}  // namespace hawser
