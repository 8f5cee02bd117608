// Binding (V07 4.1.2): all messages on one subchannel. The least work per message, and enough where a node's
// processes are many and each is bound to another rail. Another one serves while the bound one is not usable.
#include "rails/policy/policies.h"

namespace hawser {
namespace {

class Binding final : public SchedulingPolicy {
 public:
  explicit Binding(int rotation) : rotation_(static_cast<std::size_t>(rotation)) {}
  const char* name() const override { return "binding"; }
  void plan(const StripeRequest& request, std::span<const SubchannelView> views, StripePlan& plan) override {
    whole(request, next_usable(views, rotation_), plan);
  }
  int choose(std::int64_t, TrafficClass, std::span<const SubchannelView> views) override {
    return next_usable(views, rotation_);
  }
  PacketHold hold(int, std::int64_t, std::span<const SubchannelView>) const override { return {any_packets}; }

 private:
  std::size_t rotation_;
};

}  // namespace

std::unique_ptr<SchedulingPolicy> make_binding(const PolicyParameters& parameters) {
  return std::make_unique<Binding>(parameters.rotation);
}

}  // namespace hawser
