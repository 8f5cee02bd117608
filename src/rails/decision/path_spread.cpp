#include "rails/decision/path_spread.h"

#include <algorithm>

namespace hawser {
namespace {

// Of the weight of a peer's samples, and of a port's, what is left when one more comes.
constexpr double peer_keep = 1 - 1.0 / 16, port_keep = 1 - 1.0 / 64;
// What others found counts as so many samples.
constexpr double hint_weight = 4;
// A way that is less simple has to be so much better.
constexpr double clearly = 1.1;
// Who reaches so much of the port tries no other way.
constexpr double well = 0.6;
// If none of many reached so much, it is perhaps the engine that is slower than the port.
constexpr double one_engine_reaches = 0.9, best_keep = 0.99, port_best_keep = 0.998;
// Samples between trials of other ways, doubled from the first to the second.
constexpr int first_rest = 16, longest_rest = 256;
// The first one may have seen what was posted before.
constexpr int trial_samples = 3;
// A path is slow that gives less than this part of what the port reaches.
constexpr double fast = 0.8;
// Slow samples in a row that one bears who did well on a path before.
constexpr int patience = 2;
constexpr Nanoseconds longest_sample = 100 * microsecond;
// In less time than that latency counts for too much.
constexpr double shortest_sample = 30e-6;
// When a sample ended must be known to this part of its time.
constexpr Nanoseconds sharpness = 8;

}  // namespace

void SpreadHints::add(Spread way, double rate) {
  ways_[static_cast<std::size_t>(way)].add(rate, port_keep);
  if (way == Spread::one) best_ = std::max(rate, best_ * port_best_keep);
}

PathSpread::PathSpread(int paths, int engines, double nominal, std::uint64_t seed, ConnectionSet open,
                       std::uint32_t restless)
    : paths_(static_cast<std::uint16_t>(paths)),
      engines_(static_cast<std::uint16_t>(engines)),
      nominal_(nominal),
      random_(seed),
      rest_(first_rest),
      restless_(restless),
      open_(open) {}

// Connections that are made on demand.

ConnectionSet PathSpread::connections(Spread way, int path) const {
  const auto first = [](int count) {
    return count < 64 ? (ConnectionSet{1} << count) - 1 : ~ConnectionSet{0};
  };
  switch (way) {
    case Spread::one:
      return connection(path, 0);
    case Spread::engines:
      return path * engines_ < 64 ? first(engines_) << path * engines_ : 0;
    case Spread::all:
      return first(paths_ * engines_);
  }
  return 0;
}

ConnectionSet PathSpread::needed() const {
  ConnectionSet all = connections(way(), path_);
  if (next_path_.has_value()) all |= connection(*next_path_, 0);
  if (next_trial_.has_value()) all |= connections(*next_trial_, path_);
  return all;
}

void PathSpread::on_open(int path, int engine) {
  open_ |= connection(path, engine);
  const Spread way_before = way();
  const int path_before = path_;
  if (next_path_.has_value() && open(Spread::one, *next_path_)) move_to(*next_path_);
  if (next_trial_.has_value() && open(*next_trial_, path_)) start_trial(*next_trial_);
  change(way_before, path_before);
}

// It makes do with what is open, until it is slow again.
void PathSpread::on_refused() {
  const Spread way_before = way();
  const int path_before = path_;
  next_path_.reset();
  next_trial_.reset();
  if (trial_ > 0 && !open(trial_way_, path_)) trial_ = 0;
  if (!open(Spread::one, path_) && open(Spread::one, 0)) move_to(0);
  if (!open(way_, path_)) way_ = Spread::one;
  samples_ = 0;
  change(way_before, path_before);
}

void PathSpread::move_to(int path) {
  path_ = path;
  next_path_.reset();
  settled_ = false;
  slow_ = 0;
}

void PathSpread::start_trial(Spread way) {
  trial_ = trial_samples;
  trial_way_ = way;
  next_trial_.reset();
}

// What is done from now on belongs to another choice than what is under way.
void PathSpread::change(Spread way_before, int path_before) {
  if (way_before == way() && path_before == path_) return;
  ++choice_;
  sample_.done = 0;
  sample_.others = sample_.queued;
  sample_.another_way = way_before != way();
}

std::uint8_t PathSpread::on_posted(std::int64_t bytes, std::int64_t on_port, Nanoseconds now) {
  // Counts anew now and then, for what failed is not told here.
  if (on_port == 0) sample_ = {.begin = now, .alone = true};
  sample_.alone = sample_.alone && on_port == sample_.queued;
  sample_.queued += bytes;
  return choice_;
}

// Whatever is measured.
void PathSpread::wander() {
  if (restless_ == 0 || random_.below(restless_) != 0) return;
  const Spread way_before = way();
  const int path_before = path_;
  next_path_.reset();
  next_trial_.reset();
  leave_path();
  begin_trial(false);
  change(way_before, path_before);
}

void PathSpread::on_done(const StripeDone& stripe, SpreadHints& hints) {
  wander();
  sample_.queued = std::max<std::int64_t>(sample_.queued - stripe.bytes, 0);
  sample_.alone = sample_.alone && stripe.on_port == sample_.queued;
  if (still_changing(stripe)) return;
  sample_.done += stripe.bytes;
  const Nanoseconds time = stripe.now - sample_.begin;
  if (sample_.queued > 0 && time < longest_sample) return;
  const bool sharp = (stripe.now - stripe.not_before) * sharpness <= time;
  const auto bytes = static_cast<double>(sample_.done);
  const Spread way_before = way();
  const int path_before = path_;
  if (sample_.alone && open(way(), path_) && sharp && time > 0 && bytes >= shortest_sample * nominal_)
    note(std::min(1.0, bytes / nominal_ * static_cast<double>(second) / static_cast<double>(time)), hints);
  sample_.done = 0;
  sample_.begin = stripe.now;
  change(way_before, path_before);
}

// After a change the next sample begins when what was posted before is done; after one of the way, when what
// was posted beside that is done, too.
bool PathSpread::still_changing(const StripeDone& stripe) {
  if (sample_.others > 0) {
    if (stripe.choice == choice_) return true;
    sample_.others = std::max<std::int64_t>(sample_.others - stripe.bytes, 0);
    // A path is judged soon, so that who meets another leaves soon.
    if (sample_.others == 0 && sample_.another_way) sample_.early = sample_.queued;
  } else if (sample_.early > 0) {
    sample_.early = std::max<std::int64_t>(sample_.early - stripe.bytes, 0);
  } else {
    return false;
  }
  sample_.begin = stripe.now;
  return true;
}

bool PathSpread::offers(Spread way) const {
  if (way == Spread::engines) return engines_ > 1;
  return way == Spread::one || paths_ > 1;
}

double PathSpread::value(Spread way, const SpreadHints& hints) const {
  return ways_[static_cast<std::size_t>(way)].with(hints.mean(way), hint_weight);
}

void PathSpread::note(double rate, SpreadHints& hints) {
  const Spread taken = way();
  if (trial_ > 0) --trial_;
  hints.add(taken, rate);
  ways_[static_cast<std::size_t>(taken)].add(rate, peer_keep);
  if (taken != Spread::all) judge_path(rate, hints);
  if (taken == Spread::one) best_ = std::max(rate, best_ * best_keep);
  if (trial_ == 0) choose_way(hints);
}

void PathSpread::judge_path(double rate, const SpreadHints& hints) {
  if (rate >= fast * hints.best()) {
    slow_ = 0;
    settled_ = true;
    next_path_.reset();
    return;
  }
  if (++slow_ <= (settled_ ? patience : 0) || next_path_.has_value()) return;
  leave_path();
}

void PathSpread::leave_path() {
  if (paths_ < 2) return;
  const int next =
      (path_ + 1 + static_cast<int>(random_.below(static_cast<std::uint64_t>(paths_ - 1)))) % paths_;
  if (open(Spread::one, next))
    move_to(next);
  else
    next_path_ = next;
}

void PathSpread::choose_way(const SpreadHints& hints) {
  Spread best = Spread::one;
  for (const Spread way : {Spread::engines, Spread::all})
    if (offers(way) && value(way, hints) > clearly * value(best, hints)) best = way;
  if (best != way_) {
    way_ = best;
    samples_ = 0;
    return;
  }
  const bool engine_is_slow = way_ == Spread::one && engines_ > 1 && best_ < one_engine_reaches;
  const bool slow = value(way_, hints) < well;
  if (!slow && !engine_is_slow) next_trial_.reset();
  if (!(slow || engine_is_slow) || next_trial_.has_value() || ++samples_ < rest_) return;
  samples_ = 0;
  rest_ = std::min(2 * rest_, longest_rest);
  begin_trial(!slow);
}

void PathSpread::begin_trial(bool only_engines) {
  for (std::size_t i = 0; i < spread_ways; ++i) {
    turn_ = static_cast<std::uint8_t>((turn_ + 1) % spread_ways);
    const auto way = static_cast<Spread>(turn_);
    if (way == way_ || !offers(way) || (only_engines && way != Spread::engines)) continue;
    if (open(way, path_))
      start_trial(way);
    else
      next_trial_ = way;
    return;
  }
}

}  // namespace hawser
