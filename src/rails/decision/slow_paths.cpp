#include "rails/decision/slow_paths.h"

#include <algorithm>
#include <cstddef>

namespace hawser {
namespace {

// The fastest of so many samples says how fast a path is at least.
constexpr std::uint8_t slow_path_samples = 6;
// Who reaches so much of the port looks no further; who has to leave it wants so much more.
constexpr double good_path = 0.6, worth_leaving = 1.5;
// So many paths are tried in one search.
constexpr int most_tried = 8;
constexpr Nanoseconds first_search_rest = 100 * millisecond, longest_search_rest = 10 * second;
constexpr Nanoseconds avoided_for = 10 * second;

}  // namespace

std::optional<double> SlowPaths::add(Run& run, int path, double rate) {
  if (path != run.path || run.samples == 0) run = {.path = path};
  run.fastest = std::max(run.fastest, rate);
  if (++run.samples < slow_path_samples) return std::nullopt;
  run.samples = 0;
  return run.fastest;
}

std::optional<int> SlowPaths::on_sample(int path, double rate, Nanoseconds now, Random& random) {
  last_ = now;
  if (now >= avoided_until_) avoided_ = 0;
  if (paths_ < 2 || (trying() && path != tried_)) return std::nullopt;
  if (rate >= (trying() ? good_path : plainly_slow)) {
    run_ = {};
    if (!trying()) return std::nullopt;
    rates_[static_cast<std::size_t>(path)] = rate;
    return end(now);
  }
  const std::optional<double> fastest = add(run_, path, rate);
  if (!fastest.has_value() || (!trying() && now < next_search_)) return std::nullopt;
  if (!trying()) {
    first_ = tried_ = path;
    rates_.assign(static_cast<std::size_t>(paths_), 0);
  }
  return judge(*fastest, now, random);
}

void SlowPaths::on_other(int path, double rate, Nanoseconds now) {
  if (paths_ < 2 || trying()) return;
  if (rate >= plainly_slow)
    other_run_ = {};
  else if (add(other_run_, path, rate).has_value())
    avoid(path, now);
}

void SlowPaths::avoid(int path, Nanoseconds now) {
  if (path < 64) avoided_ |= std::uint64_t{1} << path;
  avoided_until_ = now + avoided_for;
}

void SlowPaths::rest(bool found, Nanoseconds now) {
  rates_.clear();
  run_ = {};
  rest_ = found ? first_search_rest : std::clamp(2 * rest_, first_search_rest, longest_search_rest);
  next_search_ = now + rest_;
}

std::optional<int> SlowPaths::judge(double rate, Nanoseconds now, Random& random) {
  rates_[static_cast<std::size_t>(tried_)] = rate;
  const auto known = std::count_if(rates_.begin(), rates_.end(), [](double each) { return each > 0; });
  if (known == paths_ || known == most_tried) return end(now);
  tried_ = draw(random);
  return tried_;
}

// One that was not tried.
int SlowPaths::draw(Random& random) const {
  int path = static_cast<int>(random.below(static_cast<std::uint64_t>(paths_)));
  while (rates_[static_cast<std::size_t>(path)] > 0) path = (path + 1) % paths_;
  return path;
}

// Takes the best one, or the first again if none is much better.
std::optional<int> SlowPaths::end(Nanoseconds now) {
  const int before = tried_;
  const auto fastest = std::max_element(rates_.begin(), rates_.end());
  const bool found = *fastest > worth_leaving * rates_[static_cast<std::size_t>(first_)];
  const int best = found ? static_cast<int>(fastest - rates_.begin()) : first_;
  avoided_ = 0;
  for (int path = 0; found && path < paths_; ++path) {
    const double rate = rates_[static_cast<std::size_t>(path)];
    if (rate > 0 && worth_leaving * rate < *fastest) avoid(path, now);
  }
  rest(found, now);
  return best != before ? std::optional(best) : std::nullopt;
}

void SlowPaths::give_up() {
  if (trying()) rest(false, last_);
}

}  // namespace hawser
