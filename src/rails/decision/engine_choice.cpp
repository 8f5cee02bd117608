#include "rails/decision/engine_choice.h"

#include <algorithm>
#include <utility>

namespace hawser {
namespace {

// More have to be so much better. So much better is better at first sight, and so much is not.
constexpr double clearly_faster = 1.1, plainly = 1.25, hardly = 1.03, disturbed = 0.9;
// Of what twice as many engines would gain, so much has to be there where it may be the path. Half of a link
// that two flows share gives two thirds to one that has two connections: a third of that.
constexpr double part_of_gain = 0.6;
// Fewer that bring so much of it are as good.
constexpr double as_good = 0.95;
constexpr int engine_trial_samples = 2;
// If peers are slow so often in a row more are tried; by several, for each hears of it with its next message.
constexpr std::uint8_t slow_samples = 2, tries_at_once = 4;
// Where more did not help before, so many samples have to be about as good as the best, as an engine's are.
constexpr std::uint8_t alike_samples = 2;
// Where it may be the path, if it is slow.
constexpr std::uint8_t samples_of_steady = 6;
// Flows that meet measure up to so much more than their share.
constexpr double margin_of_share = 1.08;
// On so many peers' paths others are not all in the way to the same degree.
constexpr std::uint8_t several_peers = 4;
// Of the weight of the samples before, what is left when one more comes.
constexpr double recent_keep = 0.5;
constexpr double best_keep = 0.998;
constexpr int longest_engine_rest = 1024;
// An adapter may well have so many, also where fewer may be used.
constexpr int likely_engines = 4;

}  // namespace

void EngineHints::add(std::size_t level, double rate, std::uint8_t& counted) {
  Level& tries = tries_[level];
  if (rate > reached_[level] / as_good) {
    tries.alike = tries.peers = tries.in_row = 1;
    counted = ++tries.best;
  } else if (rate >= as_good * reached_[level]) {
    tries.alike = std::min<std::uint8_t>(tries.alike + 1, alike_samples);
    tries.in_row = std::min<std::uint8_t>(tries.in_row + 1, samples_of_steady);
    if (std::exchange(counted, tries.best) != tries.best)
      tries.peers = std::min<std::uint8_t>(tries.peers + 1, several_peers);
  } else {
    tries.in_row = 0;
  }
  reached_[level] = std::max(rate, reached_[level] * best_keep);
  if (tries.since < tries.rest) ++tries.since;
  tries.slow = rate < enough_ ? std::min<std::uint8_t>(tries.slow + 1, slow_samples) : 0;
  if (level > 0 && since_fewer_ < rest_fewer_) ++since_fewer_;
  if (level == 0 && rate >= enough_) level_ = 0;
}

bool EngineHints::may_try_more(std::size_t level, double rate, std::uint8_t& round) {
  Level& tries = tries_[level];
  if (reached_[level] >= enough_ || rate < as_good * reached_[level]) return false;
  if (tries.tried_at == 0 && tries.slow < slow_samples) return false;
  if (steady_ && tries.alike < alike_samples) return false;
  const bool more =
      rate > clearly_faster * tries.tried_at && (tries.tried_at == 0 || tries.alike == alike_samples);
  if (!more && tries.since < tries.rest) {
    if (tries.trying == tries_at_once || round == tries.round) return false;
    ++tries.trying;
    round = tries.round;
    return true;
  }
  tries.trying = 1;
  round = ++tries.round;
  if (tries.tried_at > 0)
    tries.rest = static_cast<std::uint16_t>(std::min(2 * tries.rest, longest_engine_rest));
  tries.tried_at = std::max(rate, tries.tried_at);
  tries.since = 0;
  return true;
}

bool EngineHints::steady(std::size_t level) const { return tries_[level].in_row == samples_of_steady; }

bool EngineHints::look_slow(std::size_t level, double rate) const {
  const Level& tries = tries_[level];
  return tries.peers == several_peers && rate >= as_good * reached_[level] && reached_[level] < enough_ &&
         !tries.in_vain;
}

bool EngineHints::may_try_fewer() {
  if (since_fewer_ < rest_fewer_) return false;
  since_fewer_ = 0;
  rest_fewer_ = static_cast<std::uint16_t>(std::min(4 * rest_fewer_, longest_engine_rest));
  return true;
}

EngineChoice::EngineChoice(int engines, Doubts doubts)
    : engines_(static_cast<std::uint8_t>(engines)), doubts_(doubts) {
  while (most_level_ + 1u < engine_levels && count(most_level_) < engines) ++most_level_;
}

int EngineChoice::count(std::size_t level) const { return std::min<int>(engines_, 1 << level); }

std::size_t EngineChoice::level_of(int engines) const {
  std::size_t level = 0;
  while (level < most_level_ && count(level) < engines) ++level;
  return level;
}

bool EngineChoice::take_up(std::size_t level) {
  const bool another = level != level_;
  level_ = static_cast<std::uint8_t>(level);
  trial_.reset();
  if (another) recent_ = {0, 0};
  return another;
}

bool EngineChoice::on_sample(int engines, double rate, EngineHints& hints, bool opposed) {
  if (most_level_ == 0) return false;
  const std::size_t level = level_of(engines);
  hints.add(level, rate, counted_);
  if (trial_ == level) return judge_trial(rate, hints, opposed);
  if (level == level_) recent_.add(rate, recent_keep);
  if (trying()) return false;
  const std::size_t found = std::min<std::size_t>(hints.level(), most_level_);
  if (found != level_) return take_up(found);
  if (level == level_) consider(rate, hints);
  return false;
}

// So many connections beside one of another flow, or of several.
bool EngineChoice::may_share_a_link(double rate) const {
  const double engines = count(level_);
  return doubts_ == Doubts::of_path && rate <= margin_of_share * engines / (engines + 1);
}

// An engine that is as slow as if there were more of them than there may be is not to blame.
void EngineChoice::consider(double rate, EngineHints& hints) {
  const double enough = hints.enough();
  const bool plausible = rate * std::max(count(most_level_), likely_engines) >= enough * count(level_);
  const double fewer = level_ > 0 ? hints.reached(level_ - 1u) : 0;
  const bool doubtful =
      doubts_ == Doubts::of_gain && level_ > 0 && (fewer == 0 || rate < clearly_faster * fewer);
  const bool unclear = may_share_a_link(rate) && !hints.steady(level_);
  if (level_ < most_level_ && rate < enough && plausible && !doubtful && !unclear &&
      hints.may_try_more(level_, rate, round_))
    trial_ = static_cast<std::uint8_t>(level_ + 1);
  else if (level_ > 0 && (rate >= enough || doubtful) && hints.may_try_fewer())
    trial_ = static_cast<std::uint8_t>(level_ - 1);
  samples_ = 0;
  tried_ = 0;
}

// How many times better than `best` more engines have to be.
double EngineChoice::least_gain(double best) const {
  if (doubts_ != Doubts::of_path) return 1;
  const double gain_of_engines = std::min(1 / best, 2.0) - 1;
  return 1 + part_of_gain * gain_of_engines;
}

bool EngineChoice::judge_trial(double rate, EngineHints& hints, bool opposed) {
  ++samples_;
  tried_ = std::max(tried_, rate);
  const bool last = samples_ == engine_trial_samples;
  const double before = recent_.mean();
  bool better = false, worse = false;
  if (*trial_ > level_) {
    const double best = std::max(before, hints.reached(level_));
    const double least = least_gain(best);
    better =
        rate > std::max(plainly, least) * best || (last && tried_ > std::max(clearly_faster, least) * best);
    // What is plainly slower was disturbed: until the other end uses as many, stripes may wait behind what
    // goes there over one.
    worse = rate < hardly * before && !(opposed && rate < disturbed * before);
  } else {
    worse = rate < as_good * before;
    better = last && !worse;
  }
  if (better) {
    hints.adopt(*trial_);
    return take_up(*trial_);
  }
  if (!worse && !last) return false;
  if (*trial_ > level_) hints.note_in_vain(level_);
  trial_.reset();
  return false;
}

void EngineChoice::on_refused() {
  take_up(0);
  trial_.reset();
}

}  // namespace hawser
