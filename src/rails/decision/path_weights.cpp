#include "rails/decision/path_weights.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/assert.h"

namespace hawser {
namespace {

// Share of a sample in the estimate (alpha of equations 7.4 and 8.3). Whatever disturbs a measurement makes
// it too low, so good news counts for more than bad.
constexpr double alpha_up = 0.5;
constexpr double alpha_down = 0.25;
// Measuring takes no more of a path's time than this part.
constexpr int rest_of_measuring = 50;
// By so much another sample has to differ before it is news.
constexpr double news = 1.25;
// What is left of a weight that gives no share.
constexpr double nearly_nothing = 1.0 / 64;
// A stripe may seem so many times faster than the path was since the stripe was posted: completions come in
// bursts where acknowledgements wait behind other data.
constexpr double bursts = 1.5;
// So many times better than it was when it lost its share, a path has one again. The verdict may have come
// before its siblings were measured, so nobody may wait long for a path that is no better than that.
constexpr double share_again = 1.25;
// So many times longer than the weight says is more than chance.
constexpr double overdue = 4;
// However slow it is.
constexpr Nanoseconds longest_measuring_rest = 500 * millisecond;

double rate(std::int64_t bytes, Nanoseconds elapsed) {
  return static_cast<double>(bytes) / static_cast<double>(elapsed) * static_cast<double>(second);
}

}  // namespace

PathWeights::PathWeights(const std::vector<std::int64_t>& nominal, const WeightSettings& settings)
    : settings_(settings) {
  for (const std::int64_t rate : nominal) add(rate);
}

void PathWeights::add(std::int64_t nominal) {
  HAWSER_ASSERT(nominal > 0);
  Path& path = paths_.emplace_back();
  path.nominal = path.estimate = static_cast<double>(nominal);
  path.pause = settings_.first_pause;
  ratios_.reserve(paths_.size());
}

void PathWeights::on_stripe_done(std::uint16_t subchannel, std::int64_t bytes, std::int64_t queued_before,
                                 Nanoseconds posted, Nanoseconds now, Nanoseconds polled_before) {
  HAWSER_ASSERT(bytes >= 0 && queued_before >= 0 && posted <= now);
  Path& path = paths_[subchannel];
  if (path.failed) return;
  const Nanoseconds done_low = polled_before < 0 ? now : std::clamp(polled_before, posted, now);
  if (path.group_now != now) {
    path.group_now = now;
    path.group_bytes = 0;
    path.group_start_low = std::max(posted, path.done_low);
    path.group_start_high = std::max(posted, path.done_high);
    path.group_base = path.estimate;
    // What was ahead was done when this one started, unless nobody told when that was.
    path.group_ahead = path.done_high < posted ? queued_before : 0;
    path.group_posted = posted;
    path.group_queued = queued_before;
  }
  path.group_bytes += bytes;
  path.done_low = done_low;
  path.done_high = now;
  const double before = weight(subchannel);
  take_sample(path, done_low, now);
  judge(path);
  changes_ += weight(subchannel) != before;
  plan_measuring(path, now);
}

// Latency is most of what a packet takes on a fast path. So if it was faster than that path was, a small
// share has to show by how much.
void PathWeights::on_measured(std::uint16_t subchannel, std::int64_t bytes, std::int64_t queued_before,
                              Nanoseconds posted, Nanoseconds now, Nanoseconds polled_before) {
  Path& path = paths_[subchannel];
  const double before = path.estimate, others = sibling_ratio(path);
  on_stripe_done(subchannel, bytes, queued_before, posted, now, polled_before);
  if (path.failed || path.recovering || path.estimate < news * before) return;
  begin_small(path, std::max(path.estimate, others * path.nominal * settings_.recovered_share));
  ++changes_;
}

// With that weight, which grows as stripes confirm it.
void PathWeights::begin_small(Path& path, double rate) {
  path.recovering = true;
  path.degraded = path.no_share = false;
  path.estimate = rate;
}

void PathWeights::on_packet_done(std::uint16_t subchannel, std::int64_t bytes, Nanoseconds time) {
  Path& path = paths_[subchannel];
  if (path.failed || path.recovering || time <= 0) return;
  const double least = std::min(rate(bytes, time), path.nominal);
  if (path.estimate >= least) return;
  path.estimate = least;
  ++changes_;
  judge(path);
}

void PathWeights::take_sample(Path& path, Nanoseconds done_low, Nanoseconds now) {
  const Nanoseconds longest = now - path.group_start_low;
  const Nanoseconds shortest = done_low - path.group_start_high - settings_.latency;
  if (longest <= 0) return;
  // If what told of the one before came late, this one seems fast; but since it was posted, the path moved no
  // more than it and what was ahead of it.
  const Nanoseconds whole = done_low - path.group_posted - settings_.latency;
  const double most = whole > 0 ? rate(path.group_queued + path.group_bytes, whole) : INFINITY;
  const double lower = std::min(rate(path.group_bytes, longest), bursts * most);
  const double alone = shortest > 0 ? rate(path.group_bytes + path.group_ahead, shortest) : INFINITY;
  // Behind a long queue latency is a small part of that time, so that says more than the stripe alone.
  const double upper = std::min(alone, std::max(most, lower));
  path.estimate = path.group_base;
  if (path.group_base < lower) {
    path.estimate += alpha_up * (lower - path.group_base);
    if (path.recovering) path.estimate = std::min(path.estimate, 2 * path.group_base);
  } else if (path.group_base > upper) {
    const auto time = static_cast<double>(longest);
    // What a port says was not measured.
    const double least = path.measured || !trusts_first_ ? alpha_down : 1;
    const double alpha = std::max(least, time / (time + static_cast<double>(settings_.memory)));
    path.estimate += alpha * (upper - path.group_base);
    path.recovering = false;
    path.doubted = !path.measured && trusts_first_;
  } else if (upper < 2 * lower) {
    path.recovering = false;
  }
  // Stripes that were under way together are found done in bursts: faster than the port is none of them.
  path.estimate = std::clamp(path.estimate, 1.0, path.nominal);
  path.measured = true;
}

// The median of what part of their nominal rates the siblings reach; 0: there is nothing to compare with.
double PathWeights::sibling_ratio(const Path& path) {
  ratios_.clear();
  for (const Path& other : paths_) {
    if (&other == &path || other.failed || other.recovering || !other.measured) continue;
    if (other.nominal > 2 * path.nominal || path.nominal > 2 * other.nominal) continue;
    ratios_.push_back(other.estimate / other.nominal);
  }
  if (ratios_.empty()) return 0;
  const auto middle = ratios_.begin() + static_cast<std::ptrdiff_t>(ratios_.size() / 2);
  std::nth_element(ratios_.begin(), middle, ratios_.end());
  return *middle;
}

void PathWeights::judge(Path& path) {
  const double own = path.estimate / path.nominal;
  if (own >= settings_.well_above || path.recovering) {
    path.degraded = path.no_share = false;
    return;
  }
  const double others = sibling_ratio(path);
  path.degraded = own < others * (path.degraded ? settings_.well_above : settings_.degraded_below);
  path.no_share = own < others * settings_.no_share_below * (path.no_share ? share_again : 1);
}

void PathWeights::plan_measuring(Path& path, Nanoseconds now) {
  // One sample alone, of a connection that was just made, says little.
  path.next_measuring = now;
  if (std::exchange(path.doubted, false)) return;
  // Better than it was: look again soon. No better: there is time.
  path.pause = path.estimate > news * path.group_base ? settings_.first_pause
                                                      : std::min(path.pause * 2, settings_.longest_pause);
  const Nanoseconds rest = rest_of_measuring * (now - path.group_start_low);
  path.next_measuring += std::min(std::max(path.pause, rest), longest_measuring_rest);
}

void PathWeights::on_failed(std::uint16_t subchannel) {
  Path& path = paths_[subchannel];
  path.failed = true;
  ++changes_;
  path.degraded = path.no_share = false;
}

void PathWeights::on_recovered(std::uint16_t subchannel, Nanoseconds now) {
  Path& path = paths_[subchannel];
  path.failed = false;
  ++changes_;
  // What was measured before may have been less than nominal says.
  const double share = path.nominal * settings_.recovered_share;
  begin_small(path, std::max(path.measured ? std::min(share, path.estimate) : share, 1.0));
  path.done_low = path.done_high = now;
  path.group_now = -1;
  path.pause = settings_.first_pause;
  path.next_measuring = now;
}

double PathWeights::weight(std::uint16_t subchannel) const {
  const Path& path = paths_[subchannel];
  return path.no_share ? std::max(path.estimate * nearly_nothing, 1.0) : path.estimate;
}

double PathWeights::weight(std::uint16_t subchannel, std::int64_t bytes, Nanoseconds posted,
                           Nanoseconds now) const {
  const Nanoseconds elapsed = now - std::max(posted, paths_[subchannel].done_high) - settings_.latency;
  const double known = weight(subchannel);
  return elapsed > 0 ? std::min(known, std::max(overdue * rate(bytes, elapsed), 1.0)) : known;
}

std::int64_t PathWeights::moved(std::uint16_t subchannel, std::int64_t bytes, Nanoseconds posted,
                                Nanoseconds now) const {
  const Path& path = paths_[subchannel];
  const Nanoseconds elapsed = std::max<Nanoseconds>(now - std::max(posted, path.done_high), 0);
  const double moved = path.estimate * static_cast<double>(elapsed) / static_cast<double>(second);
  return std::min(static_cast<std::int64_t>(std::min(moved, 1e15)), bytes);
}

bool PathWeights::avoided(const Path& path) {
  if (path.failed) return false;
  const double others = sibling_ratio(path);
  return others == 0 || path.estimate < path.nominal * others * avoided_below;
}

Nanoseconds PathWeights::expected(std::uint16_t subchannel, std::int64_t bytes_queued) const {
  const double seconds = static_cast<double>(bytes_queued) / paths_[subchannel].estimate;
  const double time = seconds * static_cast<double>(second) + static_cast<double>(settings_.latency);
  // Beyond this sums and multiples could overflow.
  constexpr double longest = static_cast<double>(never / 64);
  return static_cast<Nanoseconds>(std::min(time, longest));
}

Nanoseconds PathWeights::predicted(std::uint16_t subchannel, std::int64_t bytes_queued) const {
  const double limit = settings_.watchdog_factor * static_cast<double>(expected(subchannel, bytes_queued));
  constexpr double longest = static_cast<double>(never / 4);
  return std::max(settings_.watchdog_floor, static_cast<Nanoseconds>(std::min(limit, longest)));
}

}  // namespace hawser
