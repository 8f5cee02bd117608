// Round robin (V07 4.1.2): whole messages, each on the next subchannel.
#include "rails/policy/policies.h"

namespace hawser {
namespace {

class RoundRobin final : public SchedulingPolicy {
 public:
  explicit RoundRobin(int rotation) : large_(rotation), small_(rotation) {}
  const char* name() const override { return "round_robin"; }
  void plan(const StripeRequest& request, std::span<const SubchannelView> views, StripePlan& plan) override {
    whole(request, large_.take(views), plan);
  }
  int choose(std::int64_t, TrafficClass, std::span<const SubchannelView> views) override {
    return small_.take(views);
  }

 private:
  // Apart: packets of the protocol between large messages would make these meet on every second subchannel.
  Turns large_;
  Turns small_;
};

}  // namespace

std::unique_ptr<SchedulingPolicy> make_round_robin(const PolicyParameters& parameters) {
  return std::make_unique<RoundRobin>(parameters.rotation);
}

}  // namespace hawser
