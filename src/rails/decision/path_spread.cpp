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
constexpr double port_best_keep = 0.998;
// Flows that meet get half of a link or less. More than that soon is taken for what a bus leaves of the port.
constexpr double of_two_flows = 2.0 / 3, bus_keep = 0.95;
// Samples between trials of other ways, doubled from the first to the second.
constexpr int first_rest = 4, longest_rest = 256;
// Of short messages, before a single path is tried again.
constexpr int first_rest_of_all = 64;
// The first one may have seen what was posted before.
constexpr int trial_samples = 3;
// A path is slow that gives less than this part of what the port reaches. Long messages only leave one that
// gives about half or less, as a link does that another flow takes, too: others would be little better.
constexpr double fast = 0.8, fast_for_long = 0.6;
// Several flows that meet do not bring each other down so far, nor does a search help them.
constexpr double crawling = 0.22;
// Slow samples in a row that one bears who did well on a path before. Short messages bear one less, on any,
// unless more engines are still to be tried.
constexpr int patience = 2;
// The same where it looks as if the engine were slow, and nobody knows yet whether more would help.
constexpr int patience_with_engine = 8;
// One path that brings so much of what all bring is as good for short messages.
constexpr double nearly_all = 0.95;
// Short messages give up all paths if one was so much better, after so many samples: who shares links with
// others who keep to one path gains less than these do. Then they bear more.
constexpr double much_better = 2;
constexpr int least_samples = 3, disappointed = 16, longest_patience = 256;
constexpr Nanoseconds longest_sample = 100 * microsecond;
// After so many samples in a row beside other processes one engine is used, and after so many without them
// as many as did well.
constexpr int shared_samples = 2, unshared_samples = 8;
constexpr int stripes_of_engine = 4;  // of several engines, at least, or as many of the longest samples
// Time of a sample, if it began with nothing under way, in which perhaps no data moved, at most.
constexpr Nanoseconds longest_latency = 10 * microsecond;
// Shorter samples tell nothing: the latency counts for too much, and so do the switches that each take a
// packet as a whole. Of a message of 64 KiB over two rails each has to count, also the one that has less of
// it because it is slower.
constexpr Nanoseconds least_sample = 4 * microsecond;
constexpr double least_bytes = 25600;
// What an engine reaches is less of a difference, so half of that tells; after so many that are short, for
// longer ones tell more, and the two do not compare.
constexpr double least_bytes_of_engine = 16384;
constexpr int short_samples = 8;
// When a sample ended must be known to this part of its time.
constexpr Nanoseconds sharpness = 8;

}  // namespace

void SpreadHints::add(Spread way, double rate) {
  ways_[static_cast<std::size_t>(way)].add(rate, port_keep);
  best_ = std::max(rate, best_ * (rate > of_two_flows ? bus_keep : port_best_keep));
}

PathSpread::PathSpread(int paths, int engines, double nominal, std::uint64_t seed, ConnectionSet open,
                       std::uint32_t restless)
    : paths_(static_cast<std::uint16_t>(paths)),
      engines_(static_cast<std::uint16_t>(engines)),
      nominal_(nominal),
      random_(seed),
      choice_of_engines_(engines, paths > 1 ? EngineChoice::Doubts::of_path : EngineChoice::Doubts::none),
      rest_(first_rest),
      patience_(patience),
      slow_paths_(paths),
      restless_(restless),
      open_(open) {}

// Connections that are made on demand.

ConnectionSet PathSpread::connections(Spread way, int path, int engines) const {
  ConnectionSet all = 0;
  const int first = way == Spread::all ? 0 : path, end = way == Spread::all ? paths_ : path + 1;
  for (int i = first; i < end; ++i)
    for (int engine = 0; engine < engines; ++engine) all |= connection(i, engine);
  return all;
}

ConnectionSet PathSpread::needed() const {
  ConnectionSet all = connections(Spread::one, path_, sharing_ ? 1 : choice_of_engines_.wanted());
  if (way_ == Spread::all || course_.way == Spread::all || next_trial_ || wants_all_)
    all |= connections(Spread::all, path_, engines_of_all());
  if (next_path_.has_value()) all |= connection(*next_path_, 0);
  if (packet_engines_ > 1) all |= connections(Spread::one, 0, packet_engines_);
  return all;
}

// Each path has a queue pair of its own.
int PathSpread::engines_of_all() const {
  return std::max(1, (choice_of_engines_.base() + paths_ - 1) / paths_);
}

// More are being tried, or fewer; while they are still being made the path is judged as ever.
bool PathSpread::trying_engines() const {
  return considers_engines() && open(Spread::one, path_, choice_of_engines_.wanted());
}

int PathSpread::usable_engines() const {
  if (sharing_) return 1;
  for (const int engines : {choice_of_engines_.wanted(), choice_of_engines_.base()})
    if (open(Spread::one, path_, engines)) return engines;
  return 1;
}

void PathSpread::on_open(int path, int engine) {
  open_ |= connection(path, engine);
  if (next_path_.has_value() && open(Spread::one, *next_path_, 1)) move_to(*next_path_);
  if (next_trial_ && open(Spread::all, path_, engines_of_all())) start_trial();
  if (wants_all_) spread_out();
  follow();
}

// It makes do with what is open, until it is slow again.
void PathSpread::on_refused() {
  next_path_.reset();
  next_trial_ = wants_all_ = false;
  slow_paths_.give_up();
  choice_of_engines_.on_refused();
  if (!open(Spread::all, path_, engines_of_all())) {
    trial_ = 0;
    way_ = Spread::one;
  }
  if (!open(Spread::one, path_, 1) && open(Spread::one, 0, 1)) move_to(0);
  samples_ = 0;
  follow();
}

void PathSpread::move_to(int path) {
  path_ = path;
  next_path_.reset();
  settled_ = false;
  slow_ = 0;
}

// All messages, for the other paths are slow.
void PathSpread::go_to(int path) {
  way_ = Spread::one;
  trial_ = samples_ = 0;
  next_trial_ = wants_all_ = false;
  if (open(Spread::one, path, 1))
    move_to(path);
  else
    next_path_ = path;
}

// Short messages that take all paths try the first one every other time, which everybody begins with: on even
// tables no two meet there.
void PathSpread::start_trial() {
  if (way_ == Spread::all && !long_) {
    const auto others = static_cast<std::uint64_t>(paths_ - 1);
    tries_first_ = !tries_first_;
    path_ = tries_first_ ? 0 : 1 + static_cast<int>(random_.below(others));
    for (int i = 0; i < paths_ && slow_paths_.avoids(path_); ++i) path_ = (path_ + 1) % paths_;
  }
  trial_ = trial_samples;
  next_trial_ = false;
}

// Takes all paths now, or as soon as they are open.
void PathSpread::spread_out() {
  wants_all_ = !open(Spread::all, path_, engines_of_all());
  if (wants_all_) return;
  way_ = Spread::all;
  trial_ = samples_ = slow_ = 0;
  rest_ = std::max(rest_, first_rest_of_all);
  settled_ = true;
}

// What is done from now on belongs to another choice than what is under way.
void PathSpread::follow() {
  const Spread other = way_ == Spread::one ? Spread::all : Spread::one;
  Course course{trial_ > 0 ? other : way_, path_, 1};
  course.engines = course.way == Spread::all ? engines_of_all() : usable_engines();
  if (course == course_) return;
  ++choice_;
  sample_.done = {};
  sample_.others = sample_.queued;
  sample_.another_way = course.way != course_.way || course.engines != course_.engines;
  course_ = course;
}

std::uint8_t PathSpread::on_posted(std::int64_t bytes, std::int64_t on_port, Nanoseconds now,
                                   std::int64_t movable, bool shared) {
  long_ = static_cast<double>(movable) > seconds_of_piece * nominal_;
  // Counts anew now and then, for what failed is not told here.
  if (on_port == 0) sample_ = {.begin = now, .fresh = true, .alone = true};
  sample_.alone = sample_.alone && on_port == sample_.queued;
  sample_.shared = sample_.shared || shared;
  sample_.queued += bytes;
  return choice_;
}

// Whatever is measured.
void PathSpread::wander() {
  if (restless_ == 0 || random_.below(restless_) != 0) return;
  next_path_.reset();
  next_trial_ = false;
  leave_path();
  if (engines_ > 1) choice_of_engines_.wander(random_.below(engine_levels * 8));
  begin_trial();
  if (paths_ > 1 && random_.below(4) == 0) spread_out();
  follow();
}

void PathSpread::on_done(const StripeDone& stripe, SpreadHints& hints) {
  wander();
  sample_.queued = std::max<std::int64_t>(sample_.queued - stripe.bytes, 0);
  sample_.alone = sample_.alone && stripe.on_port == sample_.queued;
  sample_.shared = sample_.shared || stripe.shared;
  if (still_changing(stripe) || unwatched(stripe)) return;
  sample_.done.bytes += stripe.bytes;
  const Nanoseconds time = stripe.now - sample_.begin;
  // Connections are done about at the same time: where one of them is, others have moved much of what is not.
  // What each has begun at the begin and at the end of a sample is little of several stripes.
  ++sample_.done.stripes;
  if (stripe.engine == 0) sample_.done.first += stripe.bytes;
  const int used = course_.way == Spread::one ? course_.engines : paths_ * course_.engines;
  const bool enough = time >= longest_sample && sample_.done.stripes % used == 0 &&
                      (used == 1 || sample_.done.stripes >= stripes_of_engine * used ||
                       (time >= stripes_of_engine * longest_sample && sample_.done.stripes >= 2 * used));
  if (sample_.queued > 0 && !enough) return;
  const bool sharp = (stripe.now - stripe.not_before) * sharpness <= time;
  if (sample_.alone && engines_shared() && open(course_.way, course_.path, course_.engines) && sharp &&
      time > 0) {
    if (static_cast<double>(sample_.done.bytes) >= shortest_sample(least_bytes))
      note(rate_of(time), stripe.now, hints);
    else if (course_.way == Spread::one)
      note_short(time, stripe.now, hints);
  }
  count_sample();
  note_sharing();
  sample_.done = {};
  sample_.shared = sample_.opposed = false;
  sample_.fresh = false;
  sample_.begin = stripe.now;
  follow();
}

void PathSpread::note_sharing() {
  unlike_ = sample_.shared == sharing_ ? 0 : unlike_ + 1;
  if (unlike_ < (sharing_ ? unshared_samples : shared_samples)) return;
  sharing_ = !sharing_;
  unlike_ = 0;
}

// At the end of a window one engine may have more left than the others, which says nothing of the path.
bool PathSpread::engines_shared() const {
  if (course_.way == Spread::all || course_.engines == 1) return true;
  const std::int64_t even = sample_.done.bytes / course_.engines;
  return sample_.done.first >= even / 2 && sample_.done.first <= even * 3 / 2;
}

// In bytes.
double PathSpread::shortest_sample(double least) const {
  constexpr Nanoseconds most = 3 * longest_latency;
  const Nanoseconds time = latency_ == 0 ? most : std::clamp(latency_ * 3 / 2, least_sample, most);
  return std::max(nominal_ * static_cast<double>(time) / static_cast<double>(second), least);
}

double PathSpread::rate_of(Nanoseconds time) const {
  if (sample_.fresh)
    time -= std::max(std::min(longest_latency, time / 4), std::min({latency_, longest_latency, time / 2}));
  const double seconds = static_cast<double>(time) / static_cast<double>(second);
  return std::min(1.0, static_cast<double>(sample_.done.bytes) / nominal_ / seconds);
}

// What says little of a path may say that an engine is slow, where nothing longer does. But what waits for
// the other direction gains less by more engines than they bring, so one end would take them and not the
// other.
void PathSpread::note_short(Nanoseconds time, Nanoseconds now, SpreadHints& hints) {
  short_ = std::min(short_ + 1, short_samples);
  if (short_ == short_samples && !sample_.opposed &&
      static_cast<double>(sample_.done.bytes) >= shortest_sample(least_bytes_of_engine) &&
      count_engines(rate_of(time), hints))
    return;
  on_short(course_.path, short_rate_of(time), now);
}

// True: another number is used from now on.
bool PathSpread::count_engines(double rate, SpreadHints& hints) {
  if (sample_.shared) return false;
  const std::size_t found = hints.engines.level();
  const bool changed = choice_of_engines_.on_sample(course_.engines, rate, hints.engines, sample_.opposed);
  if (hints.engines.level() != found) hints.forget();
  if (!changed) return false;
  ways_ = {RateMean{0, 0}, RateMean{0, 0}};
  slow_ = 0;
  return true;
}

// At most, for most of a short time may be latency.
double PathSpread::short_rate_of(Nanoseconds time) const {
  time -= latency_ == 0 ? longest_latency : std::min(latency_ + latency_ / 2 + microsecond, longest_latency);
  const double bytes = nominal_ * static_cast<double>(time) / static_cast<double>(second);
  const double rate = static_cast<double>(sample_.done.bytes) / std::max(bytes, 1.0);
  return rate < crawling ? rate : 1.0;
}

void PathSpread::on_short(int path, double rate, Nanoseconds now) {
  if (paths_ < 2 || course_.way == Spread::all || trial_ > 0 || trying_engines()) return;
  if (path != course_.path) return slow_paths_.on_other(path, rate, now);
  if (long_) return;
  if (const std::optional<int> next = slow_paths_.on_sample(path, rate, now, random_)) go_to(*next);
  follow();
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

// What was posted first may have been done long before somebody looked, and then nothing moved: the sample
// begins behind all that may have been done until that look.
bool PathSpread::unwatched(const StripeDone& stripe) {
  if (sample_.queued == 0) return false;
  if (stripe.not_before > sample_.begin)
    sample_.unwatched = false;
  else if (sample_.fresh)
    sample_.unwatched = (stripe.now - sample_.begin) * sharpness > longest_sample;
  if (!sample_.unwatched) return false;
  sample_.fresh = false;
  sample_.begin = stripe.now;
  return true;
}

double PathSpread::value(Spread way, const SpreadHints& hints) const {
  return ways_[static_cast<std::size_t>(way)].with(hints.mean(way), hint_weight);
}

void PathSpread::note(double rate, Nanoseconds now, SpreadHints& hints) {
  const Course taken = course_;
  if (trial_ > 0) --trial_;
  short_ = 0;
  if (taken.way == Spread::one && !sample_.shared) {
    if (count_engines(rate, hints)) return;
    const int usual = choice_of_engines_.base();
    // More engines that do not help say that it is the path.
    if (taken.engines > usual && !choice_of_engines_.trying()) judge_path(rate, hints);
    // So do fewer, while others are made on a new path, that are slower than fewer were elsewhere.
    if (taken.engines < usual && rate < fast * choice_of_engines_.reached(taken.engines, hints.engines))
      judge_path(rate, hints);
    if (taken.engines != usual) return;
  }
  if (taken.way == Spread::one && !long_ && (slow_paths_.trying() || rate < crawling) &&
      slow_paths_.may_leave(rate, now))
    return on_short(taken.path, rate, now);
  hints.add(taken.way, rate);
  ways_[static_cast<std::size_t>(taken.way)].add(rate, peer_keep);
  if (taken.way == Spread::one) judge_path(rate, hints);
  if (trial_ == 0 && !considers_engines()) choose_way(hints);
}

void PathSpread::judge_path(double rate, const SpreadHints& hints) {
  const bool as_good_as_all = way_ == Spread::one || long_ || rate >= nearly_all * value(Spread::all, hints);
  if (rate >= (long_ ? fast_for_long : fast) * hints.best() && as_good_as_all) {
    slow_ = 0;
    settled_ = true;
    next_path_.reset();
    if (!long_) keep_to_path();
    return;
  }
  if (trying_engines() || (way_ == Spread::all && !long_)) return;
  ++slow_;
  const bool engine_may_be_slow = long_ && course_.engines == choice_of_engines_.base() &&
                                  choice_of_engines_.looks_slow(rate, hints.engines);
  const int usual = !long_ ? patience_ - (considers_engines() ? 0 : 1) : settled_ ? patience_ : 0;
  const int borne = engine_may_be_slow ? patience_with_engine : usual;
  if (slow_ <= borne || next_path_.has_value() || paths_ < 2) return;
  if (long_)
    leave_path();
  else
    spread_out();
}

// It does well where it is.
void PathSpread::keep_to_path() {
  way_ = Spread::one;
  trial_ = samples_ = 0;
  patience_ = patience;
  rest_ = first_rest;
  wants_all_ = false;
}

void PathSpread::leave_path() {
  if (paths_ < 2) return;
  slow_paths_.give_up();
  int next = (path_ + 1 + static_cast<int>(random_.below(static_cast<std::uint64_t>(paths_ - 1)))) % paths_;
  for (int i = 0; i < paths_ && (next == path_ || slow_paths_.avoids(next)); ++i) next = (next + 1) % paths_;
  if (open(Spread::one, next, 1))
    move_to(next);
  else
    next_path_ = next;
}

void PathSpread::choose_way(const SpreadHints& hints) {
  if (!long_) {
    if (way_ == Spread::one || samples_ < least_samples) return;
    if (value(Spread::one, hints) <= much_better * value(Spread::all, hints)) return;
    way_ = Spread::one;
    samples_ = slow_ = 0;
    patience_ = std::clamp(4 * patience_, disappointed, longest_patience);
    return;
  }
  const Spread best = paths_ > 1 && value(Spread::all, hints) > clearly * value(Spread::one, hints)
                          ? Spread::all
                          : Spread::one;
  if (best != way_) {
    way_ = best;
    samples_ = 0;
    return;
  }
  const bool slow = value(way_, hints) < well;
  if (!slow) next_trial_ = false;
  if (!slow || next_trial_ || ++samples_ < rest_ || next_path_.has_value()) return;
  rest_longer();
  begin_trial();
}

// Also who never has a port to itself tries one path again, and keeps to it where nothing says that it is
// slow.
void PathSpread::count_sample() {
  if (long_ || way_ == Spread::one || trial_ > 0 || considers_engines() || ++samples_ < rest_) return;
  rest_longer();
  start_trial();
}

// Before the trial after the one that is due.
void PathSpread::rest_longer() {
  samples_ = 0;
  rest_ = std::min(2 * rest_, longest_rest);
}

void PathSpread::begin_trial() {
  if (paths_ < 2) return;
  if (way_ == Spread::all || open(Spread::all, path_, engines_of_all()))
    start_trial();
  else
    next_trial_ = true;
}

}  // namespace hawser
