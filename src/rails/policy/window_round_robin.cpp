// Window-based round robin (V07 4.1.2): W messages on one subchannel before it is the next one's turn, so
// that few messages arrive out of order although the subchannels' latencies differ.
#include "rails/policy/policies.h"

namespace hawser {
namespace {

class WindowedTurns {
 public:
  WindowedTurns(int rotation, int window) : turns_(rotation), window_(window) {}
  int take(std::span<const SubchannelView> views) {
    const bool stay = current_ >= 0 && taken_ < window_ &&
                      static_cast<std::size_t>(current_) < views.size() &&
                      views[static_cast<std::size_t>(current_)].usable;
    if (!stay) {
      current_ = turns_.take(views);
      taken_ = 0;
    }
    ++taken_;
    return current_;
  }

 private:
  Turns turns_;
  int window_;
  int current_ = -1;
  int taken_ = 0;
};

class WindowRoundRobin final : public SchedulingPolicy {
 public:
  explicit WindowRoundRobin(const PolicyParameters& parameters)
      : large_(parameters.rotation, parameters.first), small_(parameters.rotation, parameters.first) {}
  const char* name() const override { return "window_round_robin"; }
  void plan(const StripeRequest& request, std::span<const SubchannelView> views, StripePlan& plan) override {
    whole(request, large_.take(views), plan);
  }
  int choose(std::int64_t, TrafficClass, std::span<const SubchannelView> views) override {
    return small_.take(views);
  }

 private:
  WindowedTurns large_;
  WindowedTurns small_;
};

}  // namespace

std::unique_ptr<SchedulingPolicy> make_window_round_robin(const PolicyParameters& parameters) {
  return std::make_unique<WindowRoundRobin>(parameters);
}

}  // namespace hawser
