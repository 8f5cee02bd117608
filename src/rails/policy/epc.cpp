// Enhanced point-to-point and collective, EPC (V07 6.2): who waits for one message (blocking, collective)
// gets it striped over all engines; who has many under way (non-blocking) gets them round robin, because
// stripes of middle size cost more requests and acknowledgements than they gain. Messages so large that this
// cost does not matter are striped in any case: both policies move the same bytes per second then, and a lone
// non-blocking message is not left on one engine.
#include "rails/policy/policies.h"

namespace hawser {
namespace {

// From here on a stripe over eight engines is still as large as a message that round robin would move whole.
constexpr std::int64_t striped_in_any_case = 512 * 1024;

class Epc final : public SchedulingPolicy {
 public:
  explicit Epc(int rotation) : large_(rotation), small_(rotation) {}
  const char* name() const override { return "epc"; }
  void plan(const StripeRequest& request, std::span<const SubchannelView> views, StripePlan& plan) override {
    if (round_robin(request.traffic) && request.bytes < striped_in_any_case) {
      whole(request, large_.take(views), plan);
      return;
    }
    parts_.clear();
    for (std::size_t i = 0; i < views.size(); ++i)
      if (views[i].usable) parts_.push_back({static_cast<std::uint16_t>(i), 1});
    cut_by_weight(request, parts_, plan);
  }
  int choose(std::int64_t, TrafficClass, std::span<const SubchannelView> views) override {
    return small_.take(views);
  }

 private:
  static bool round_robin(TrafficClass traffic) {
    switch (traffic) {
      case TrafficClass::nonblocking:
      case TrafficClass::one_sided:
        return true;
      case TrafficClass::blocking:
      case TrafficClass::collective:
        return false;
    }
    return false;
  }

  Turns large_;
  Turns small_;
  std::vector<Weighted> parts_;
};

}  // namespace

std::unique_ptr<SchedulingPolicy> make_epc(const PolicyParameters& parameters) {
  return std::make_unique<Epc>(parameters.rotation);
}

}  // namespace hawser
