// EngineChoice: how many engines the messages of a peer use. An engine of an adapter serves one queue pair at
// a time and may be slower than its port (V07 2.3.1); how many there are, and how fast, nobody says. So it is
// found out, before any path is blamed for being slow:
//
// - One queue pair that reaches nine tenths of the port shows that one engine suffices.
// - Who reaches less, twice in a row, tries twice as many queue pairs on the same path. They are taken if
//   they are clearly better than one of this port ever was. A path that is slow by itself is not faster for
//   two of them. One that is crowded is, but less so than two engines would be.
// - Where there are other paths, half of the port or less looks like a flow that shares a link. Then more
//   engines are tried only after several samples in a row that are alike, as an engine's are: a trial takes
//   as long as several messages, and no path is left meanwhile.
// - What one peer finds is so for the whole port (EngineHints). It is asked again when one queue pair reaches
//   more than when it was asked last, for then a path was in the way; else rarely.
//
// Samples are rates as parts of the port's, as in path_spread.h.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "rails/decision/rate_mean.h"

namespace hawser {

// Queue pairs of a path, doubled from level to level: 1, 2, 4, 8.
inline constexpr std::size_t engine_levels = 4;

// What was found of a port.
class EngineHints {
 public:
  // `enough`: who reaches so much of the port has engines enough. `steady`: the first try waits for samples
  // that are alike, too.
  // Small packets lose by an engine that brings nothing, so they try fewer sooner.
  explicit EngineHints(double enough = 0.9, bool steady = false)
      : enough_(enough), steady_(steady), rest_fewer_(steady ? 12 : 64) {}
  double enough() const { return enough_; }
  // `counted`: the peer's, as this left it.
  void add(std::size_t level, double rate, std::uint8_t& counted);
  // What its peers begin with.
  std::size_t level() const { return level_; }
  // Whether the latest samples were all about as good as the best, as an engine's are.
  bool steady(std::size_t level) const;
  // The best of the latest samples.
  double reached(std::size_t level) const { return reached_[level]; }
  bool sampled() const {
    return std::any_of(reached_.begin(), reached_.end(), [](double rate) { return rate > 0; });
  }
  // Whether somebody who reached `rate` shall try more, or fewer; it is noted that he does. `round`: the last
  // one of such tries in which he took part, and this one.
  bool may_try_more(std::size_t level, double rate, std::uint8_t& round);
  bool may_try_fewer();
  // Whether the engines look slow: several peers reached so much and none more, and nobody knows yet whether
  // more engines would help.
  bool look_slow(std::size_t level, double rate) const;
  // They did not.
  void note_in_vain(std::size_t level) { tries_[level].in_vain = true; }
  void adopt(std::size_t level) { level_ = static_cast<std::uint8_t>(level); }

 private:
  struct Level {
    double tried_at = 0;      // what was reached when more were tried
    std::uint16_t since = 0;  // samples since then
    std::uint16_t rest = 16;  // and how many until the next try
    std::uint8_t slow = 0;    // samples in a row
    std::uint8_t alike = 0;   // samples about as good as the best
    std::uint8_t in_row = 0;  // of these, the latest, with none between them that was not
    std::uint8_t trying = 0;  // peers in this round of tries
    std::uint8_t round = 0;
    std::uint8_t best = 0;   // counts the best ones
    std::uint8_t peers = 0;  // that were about as good as the last of these
    bool in_vain = false;    // more were tried, and did not help
  };
  double enough_;
  bool steady_;
  std::array<double, engine_levels> reached_ = {};
  std::array<Level, engine_levels> tries_;
  std::uint16_t since_fewer_ = 0, rest_fewer_;
  std::uint8_t level_ = 0;
};

class EngineChoice {
 public:
  // Who has several tries fewer where these fill the port; of_gain: also where they are not clearly faster
  // than fewer ever were. of_path: a connection may be slow because its path is crowded, and two would get a
  // larger share of it than one. So two have to bring most of what two engines would.
  enum class Doubts : std::uint8_t { none, of_path, of_gain };
  explicit EngineChoice(int engines, Doubts doubts = Doubts::none);

  // How many messages should use now, and when nothing is being tried.
  int wanted() const { return count(trial_.value_or(level_)); }
  int base() const { return count(level_); }
  // Whether more, or fewer, are being tried, or will be as soon as they are open.
  bool trying() const { return trial_.has_value(); }
  bool looks_slow(double rate, const EngineHints& hints) const {
    return level_ < most_level_ && hints.look_slow(level_, rate);
  }
  // A sample with so many; messages went the other way meanwhile. True: another number is best from now on.
  bool on_sample(int engines, double rate, EngineHints& hints, bool opposed = false);
  // Begins with what was found.
  void follow(const EngineHints& hints) { take_up(std::min<std::size_t>(hints.level(), most_level_)); }
  // Tries others, whatever was measured.
  void wander(std::uint64_t random) {
    const auto level = static_cast<std::uint8_t>(random % (most_level_ + 1u));
    if (level != level_) trial_ = level;
  }
  // The best of the latest samples of the port with so many.
  double reached(int engines, const EngineHints& hints) const { return hints.reached(level_of(engines)); }
  // What was wanted cannot be had now.
  void on_refused();

 private:
  int count(std::size_t level) const;
  std::size_t level_of(int engines) const;
  bool take_up(std::size_t level);
  void consider(double rate, EngineHints& hints);
  bool may_share_a_link(double rate) const;
  double least_gain(double best) const;
  bool judge_trial(double rate, EngineHints& hints, bool opposed);

  std::uint8_t engines_;
  Doubts doubts_;
  std::uint8_t most_level_ = 0;
  std::uint8_t level_ = 0;
  std::uint8_t samples_ = 0;  // of the trial
  std::uint8_t round_ = 0;    // of tries, the last with this peer
  std::uint8_t counted_ = 0;  // EngineHints::add
  std::optional<std::uint8_t> trial_;
  RateMean recent_{0, 0};
  double tried_ = 0;  // the best of the trial
};

}  // namespace hawser
