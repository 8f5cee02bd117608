// SlowPaths: leaves a path that is plainly slow, by what short messages tell. A link may be ten times slower
// than the ports say, or as crowded; of several paths between two ports perhaps one goes over it. Messages
// that are too short for a sample of PathSpread, and small packets, tell little: most of their time is
// latency, and whatever else is on the way makes them late. But nothing makes them early. So if the fastest
// of several in a row brings a third of the port or less, other paths are tried, one after the other, until
// one does well. If none is clearly better the end or the bus is slow, and for a while nobody tries again.
//
// A path that was left is avoided for some time. Flows that merely meet do not bring each other down so far,
// so on a fabric without such a link nothing happens here.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/random.h"
#include "base/time.h"

namespace hawser {

class SlowPaths {
 public:
  explicit SlowPaths(int paths) : paths_(paths) {}

  // Something that went over `path` reached at most this part of the port's rate. Returns where messages are
  // to go instead, if anywhere.
  std::optional<int> on_sample(int path, double rate, Nanoseconds now, Random& random);
  // The same of a path that messages do not take, but packets do.
  void on_other(int path, double rate, Nanoseconds now);
  // Messages go elsewhere for another reason, or the path that on_sample named cannot be had.
  void give_up();

  // Whether it makes of such a sample what it can.
  bool may_leave(double rate, Nanoseconds now) const {
    return paths_ > 1 && (trying() || (rate < plainly_slow && now >= next_search_));
  }
  // Other paths are being tried.
  bool trying() const { return !rates_.empty(); }
  // Messages had better not take this path: it was slow, or another one is being tried.
  bool avoids(int path) const { return trying() ? path != tried_ : path < 64 && (avoided_ >> path & 1) != 0; }
  bool avoids_any() const { return trying() || avoided_ != 0; }
  // Changes whenever it is another answer.
  struct Course {
    int tried = -1;
    std::uint64_t avoided = 0;
    bool operator==(const Course&) const = default;
  };
  Course course() const { return {trying() ? tried_ : -1, avoided_}; }

  static constexpr double plainly_slow = 0.35;

 private:
  struct Run {  // of slow samples in a row
    int path = 0;
    std::uint8_t samples = 0;
    double fastest = 0;
  };
  // The fastest, when there are enough of them.
  static std::optional<double> add(Run& run, int path, double rate);
  void avoid(int path, Nanoseconds now);
  void rest(bool found, Nanoseconds now);
  std::optional<int> judge(double rate, Nanoseconds now, Random& random);
  std::optional<int> end(Nanoseconds now);
  int draw(Random& random) const;

  int paths_;
  Run run_, other_run_;
  int tried_ = 0;              // where messages are while others are tried
  int first_ = 0;              // where they were before
  std::vector<double> rates_;  // by path, as far as tried; empty: none is being tried
  std::uint64_t avoided_ = 0;
  Nanoseconds avoided_until_ = 0;
  Nanoseconds next_search_ = 0, rest_ = 0;
  Nanoseconds last_ = 0;  // sample
};

}  // namespace hawser
