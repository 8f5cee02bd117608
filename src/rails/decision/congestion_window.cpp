#include "rails/decision/congestion_window.h"

#include "base/assert.h"

namespace hawser {
namespace {

// Rounded up.
std::uint32_t microseconds(Nanoseconds time) {
  return static_cast<std::uint32_t>(std::min<Nanoseconds>(time / microsecond + 1, UINT32_MAX));
}

// From here on requests tell that a path is slow: beside as many bytes of others, so that it is not one
// message that another process was ahead of; and in so long a time that it matters little how seldom a
// process reads the clock while it has much to do.
constexpr std::int64_t telling_bytes = 4096;
constexpr Nanoseconds telling_time = 70 * microsecond;
constexpr std::int64_t most_bytes = std::int64_t{1} << 32;

}  // namespace

void CongestionWindow::on_done(std::int64_t bytes, std::int64_t delivered_before, Nanoseconds posted,
                               Nanoseconds before, Nanoseconds now, bool alone) {
  HAWSER_ASSERT(bytes >= 0 && delivered_before <= delivered_ && posted <= now);
  delivered_ += bytes;
  earliest_.take(delivered_ - delivered_before, before - posted);
  latest_.take(delivered_ - delivered_before, now - posted);
  pending_ = true;
  round_over_ |= posted >= round_began_;
  many_ |= alone && delivered_ - delivered_before >= std::max(telling_bytes, 2 * bytes);
  now_ = now;
}

void CongestionWindow::take_sample(std::int64_t under_way) {
  const Sample most_time = latest_, least_time = earliest_, sample = under_way > 0 ? most_time : least_time;
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
  if (sample.large > 0) {
    rate_ = sample.large;
    judge_pace(most_time, least_time);
  }
  many_ = false;
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

// The true pace lies between the two. What took about as long as the shortest request tells no pace: the path
// had nothing else to do.
void CongestionWindow::judge_pace(const Sample& most_time, const Sample& least_time) {
  if (ns_per_byte_ > 0) ns_per_byte_ = std::min(ns_per_byte_, 1 / most_time.large);
  if (many_ && least_time.longest > std::max(2 * shortest_, telling_time))
    ns_per_byte_ = std::max(ns_per_byte_, 1 / least_time.large);
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
  rate_ = fastest_ = ns_per_byte_ = 0;
  longest_ = 0;
  pending_ = round_over_ = many_ = limited_ = false;
}

}  // namespace hawser
