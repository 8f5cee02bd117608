#include "rails/policy/policies.h"

#include <algorithm>

#include "base/assert.h"

namespace hawser {
namespace {

// Stripes begin on multiples of this where they can: adapters move whole cache lines.
constexpr std::int64_t grain = 256;

}  // namespace

void cut_by_weight(const StripeRequest& request, std::vector<Weighted>& parts, StripePlan& plan) {
  HAWSER_ASSERT(!parts.empty() && request.bytes >= 0);
  plan.clear();
  const std::int64_t smallest = std::max<std::int64_t>(request.smallest_stripe, 1);
  std::sort(parts.begin(), parts.end(), [](const Weighted& a, const Weighted& b) {
    return a.weight != b.weight ? a.weight > b.weight : a.subchannel < b.subchannel;
  });
  const std::int64_t most = std::clamp<std::int64_t>(request.bytes / smallest, 1, max_stripes);
  auto count = std::min(parts.size(), static_cast<std::size_t>(most));
  double total = 0;
  for (std::size_t i = 0; i < count; ++i) total += parts[i].weight;
  const auto bytes = static_cast<double>(request.bytes);
  while (count > 1 && parts[count - 1].weight * bytes < static_cast<double>(smallest) * total)
    total -= parts[--count].weight;
  parts.resize(count);

  // Each share is at least `smallest`, so after rounding down something is left over for the heaviest.
  std::array<std::int64_t, max_stripes> sizes;
  std::int64_t left = request.bytes;
  for (std::size_t i = 1; i < count; ++i) {
    const auto share = static_cast<std::int64_t>(parts[i].weight / total * bytes);
    sizes[i] = std::min(std::max(share / grain * grain, smallest), left - smallest);
    left -= sizes[i];
  }
  sizes[0] = left;
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < count; ++i) {
    plan.add({parts[i].subchannel, offset, sizes[i]});
    offset += sizes[i];
  }
}

void whole(const StripeRequest& request, int subchannel, StripePlan& plan) {
  HAWSER_ASSERT(subchannel >= 0);
  plan.clear();
  plan.add({static_cast<std::uint16_t>(subchannel), 0, request.bytes});
}

int next_usable(std::span<const SubchannelView> views, std::size_t start) {
  for (std::size_t i = 0; i < views.size(); ++i) {
    const std::size_t index = (start + i) % views.size();
    if (views[index].usable) return static_cast<int>(index);
  }
  return -1;
}

int fastest_usable(std::span<const SubchannelView> views, int rotation) {
  int best = -1;
  for (std::size_t i = 0; i < views.size(); ++i) {
    const std::size_t index = (static_cast<std::size_t>(rotation) + i) % views.size();
    const SubchannelView& view = views[index];
    if (!view.usable) continue;
    if (best < 0) {
      best = static_cast<int>(index);
      continue;
    }
    // Rates that differ little are one speed: measurement is never exact.
    const SubchannelView& other = views[static_cast<std::size_t>(best)];
    const bool faster = view.bytes_per_second > 1.5 * other.bytes_per_second;
    const bool as_fast = view.bytes_per_second * 1.5 >= other.bytes_per_second;
    if (faster || (as_fast && view.requests_queued < other.requests_queued)) best = static_cast<int>(index);
  }
  return best;
}

PacketHold hold_fastest(int chosen, std::int64_t bytes, std::span<const SubchannelView> views) {
  constexpr std::int64_t small = 256;
  constexpr std::int32_t ahead = 4;
  if (bytes > small) return {};
  return {any_packets, small, INT64_MAX, views[static_cast<std::size_t>(chosen)].requests_queued + ahead};
}

void Striping::plan(const StripeRequest& request, std::span<const SubchannelView> views, StripePlan& plan) {
  parts_.clear();
  for (std::size_t i = 0; i < views.size(); ++i)
    if (views[i].usable) parts_.push_back({static_cast<std::uint16_t>(i), weight(views, i)});
  cut_by_weight(request, parts_, plan);
}

int Striping::choose(std::int64_t, TrafficClass, std::span<const SubchannelView> views) {
  return fastest_usable(views, rotation_);
}

}  // namespace hawser
