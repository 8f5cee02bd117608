#include "rails/decision/rail_latencies.h"

#include <algorithm>

namespace hawser {
namespace {

// A time is a sample if it is known to this part.
constexpr Nanoseconds latency_sharpness = 4;
// Between two looks for an idle rail, and how many there are before it is given up for long.
constexpr std::int64_t packets_between_looks = 8;
constexpr std::int32_t most_looks = 24;
// Who computes finds most of them done late.
constexpr std::uint8_t most_tries = 6;
// Until the time is looked at again.
constexpr std::int64_t packets_while_early = 1024;
constexpr Nanoseconds between_series = second;
// A rail may be farther for a while only: small packets take longer over a link that is slow.
constexpr Nanoseconds between_series_that_differ = 10 * millisecond;
// Rails whose times differ by no more than this part count as alike.
constexpr Nanoseconds part_that_differs = 4;

}  // namespace

bool RailLatencies::begin_look(Nanoseconds now) {
  if (rails_.size() == 1) {
    end_series(now);
    return false;
  }
  next_look_ = packets_ + (now < not_before_ ? packets_while_early : packets_between_looks);
  if (now < not_before_) return false;
  const bool lacking =
      std::any_of(rails_.begin(), rails_.end(), [](const Rail& rail) { return rail.lacking > 0; });
  if (lacking && ++looks_ <= most_looks) return true;
  end_series(now);
  return false;
}

void RailLatencies::on_posted(std::size_t rail) {
  Rail& posted = rails_[rail];
  if (++posted.tries >= most_tries) posted.lacking = 0;
}

// Those that are not known yet may be as soon as there are packets enough.
void RailLatencies::end_series(Nanoseconds now) {
  next_look_ =
      packets_ + std::clamp(packets_, first_look, differ_ ? packets_while_early : most_between_series);
  looks_ = 0;
  not_before_ = now + (differ_ ? between_series_that_differ : between_series);
  for (Rail& rail : rails_) {
    const bool known = rail.samples >= telling_samples;
    rail.lacking = known ? 1 : telling_samples;
    rail.tries = 0;
    if (!known) not_before_ = 0;
  }
}

bool RailLatencies::on_done(std::size_t rail, Nanoseconds least, Nanoseconds most, Nanoseconds delayed) {
  Rail& done = rails_[rail];
  if ((most - least) * latency_sharpness > most) return false;
  const std::size_t sample = done.samples++ % telling_samples;
  done.times[sample] = most;
  done.leasts[sample] = least - delayed;
  if (done.lacking > 0) --done.lacking;
  compare();
  return true;
}

void RailLatencies::forget(std::size_t rail) {
  rails_[rail] = {};
  next_look_ = packets_ + first_look;
  not_before_ = 0;
  compare();
}

// A rail is farther if it is also without all that may have delayed its packets, for another one is not
// farther than its packets took with that. One packet that was not delayed tells that it is not.
void RailLatencies::compare() {
  Nanoseconds shortest = never;
  for (std::size_t i = 0; i < rails_.size(); ++i)
    if (round_trip(i) > 0) shortest = std::min(shortest, round_trip(i));
  differ_ = false;
  least_detour_ = never;
  for (std::size_t i = 0; i < rails_.size(); ++i) {
    Rail& rail = rails_[i];
    const Nanoseconds least =
        round_trip(i) > 0 ? *std::max_element(rail.leasts.begin(), rail.leasts.end()) : 0;
    const Nanoseconds longer = std::min(least, round_trip(i)) - shortest;
    rail.farther = longer > shortest / part_that_differs ? (round_trip(i) - shortest) / 2 : 0;
    if (rail.farther == 0) continue;
    differ_ = true;
    least_detour_ = std::min(least_detour_, rail.farther);
  }
}

Nanoseconds RailLatencies::least_round_trip() const {
  if (rails_.empty()) return 0;
  Nanoseconds least = never;
  for (std::size_t i = 0; i < rails_.size(); ++i) least = std::min(least, round_trip(i));
  return least;
}

Nanoseconds RailLatencies::round_trip(std::size_t rail) const {
  const Rail& of = rails_[rail];
  return of.samples < telling_samples ? 0 : *std::min_element(of.times.begin(), of.times.end());
}

}  // namespace hawser
