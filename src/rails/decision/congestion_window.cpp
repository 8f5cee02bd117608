#include "rails/decision/congestion_window.h"

#include "base/assert.h"

namespace hawser {
namespace {

// Rounded up.
std::uint32_t microseconds(Nanoseconds time) {
  return static_cast<std::uint32_t>(std::min<Nanoseconds>(time / microsecond + 1, UINT32_MAX));
}

constexpr std::int64_t most_bytes = std::int64_t{1} << 32;

}  // namespace

void CongestionWindow::on_done(std::int64_t bytes, std::int64_t delivered_before, Nanoseconds posted,
                               Nanoseconds before, Nanoseconds now) {
  HAWSER_ASSERT(bytes >= 0 && delivered_before <= delivered_ && posted <= now);
  delivered_ += bytes;
  earliest_.take(delivered_ - delivered_before, before - posted);
  latest_.take(delivered_ - delivered_before, now - posted);
  pending_ = true;
  round_over_ |= posted >= round_began_;
  now_ = now;
}

void CongestionWindow::take_sample(std::int64_t under_way) {
  const Sample sample = under_way > 0 ? latest_ : earliest_;
  earliest_ = latest_ = {};
  pending_ = false;
  if (now_ - second_began_ >= second) {
    slowest_before_us_ = slowest_us_;
    slowest_us_ = 0;
    second_began_ = now_;
  }
  if (sample.longest >= slowest_us_ * microsecond) slowest_us_ = microseconds(sample.longest);
  shortest_ = std::min(shortest_, sample.shortest);
  fastest_ = std::max(fastest_, sample.rate);
  if (sample.large > 0) rate_ = sample.large;
  longest_ = std::max(longest_, sample.longest);
  if (!round_over_) return;
  const Nanoseconds target = shortest_ + settings_.queueing;
  if (limited_ || longest_ > target) [[unlikely]]
    resize(target);
  limited_ = round_over_ = false;
  fastest_ = 0;
  longest_ = 0;
  round_began_ = now_;
}

// To what the path moves in this time.
void CongestionWindow::resize(Nanoseconds target) {
  const auto wanted = static_cast<std::int64_t>(
      std::min(static_cast<double>(fastest_) * static_cast<double>(target), static_cast<double>(most_bytes)));
  if (longest_ > target && wanted < bytes_)
    bytes_ = std::max({wanted, bytes_ / 2, settings_.least});
  else if (limited_ && wanted > bytes_)
    bytes_ = std::min(wanted, 2 * bytes_);
}

void CongestionWindow::on_failed() {
  bytes_ = std::min(bytes_, settings_.least);
  shortest_ = never;
  slowest_us_ = slowest_before_us_ = 0;
  earliest_ = latest_ = {};
  rate_ = fastest_ = 0;
  longest_ = 0;
  pending_ = round_over_ = limited_ = false;
}

}  // namespace hawser
