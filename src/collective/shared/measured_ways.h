// MeasuredWays: which of several ways of doing an operation within a node takes least time. That depends on
// where the cores are and on what their caches share, so a processor that is new would make any table wrong,
// and, in a virtual machine, so would the next hour. Therefore each way is gone a few times, measured, and
// the fastest is kept; after a while, which grows, they are measured again.
//
// All ranks count an operation alike and record what the slowest of them took, so all choose the same way.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "collective/call.h"

namespace hawser {

enum class Way : std::uint8_t {
  area,      // through the team's shared area, in pieces
  messages,  // as between nodes
  direct,    // the kernel copies from the other ranks' memory
  shares,    // a reduction to one rank: each rank reduces a share of it
};
inline constexpr int way_count = 4;

using WaySet = unsigned;  // a bit for each
constexpr WaySet set_of(Way way) { return 1U << static_cast<unsigned>(way); }
template <class... More>
constexpr WaySet set_of(Way way, More... more) {
  return set_of(way) | set_of(more...);
}

class MeasuredWays {
 public:
  // `ways`: area, and others.
  explicit MeasuredWays(WaySet ways) : ways_(ways) {}

  struct Turn {
    Way way;
    bool timed;  // all ranks begin it together, and record() follows
  };
  // Counts an operation.
  Turn next();
  // What the operation of the last turn, which was timed, took on the slowest rank.
  void record(std::uint64_t cost);
  // The way of the last turn cannot be gone.
  void exclude(Way way);
  Way current() const { return current_; }

 private:
  static constexpr std::uint32_t first_operations = 2;  // memory is touched for the first time
  static constexpr std::uint32_t shortest_rest = 128;   // operations from one series to the next
  static constexpr std::uint32_t longest_rest = 16384;
  // Of a series. In each, every way is gone some times in a row, because what one leaves in the caches makes
  // the next operation faster or slower, and the last times count.
  static constexpr int rounds = 3;
  static constexpr int in_a_row = 4;
  static constexpr int not_counted = 2;

  bool in(WaySet set, int way) const { return (set >> way & 1) != 0; }
  std::uint64_t least() const;
  void go_on();
  void end_round();
  void end_series();

  WaySet ways_;
  WaySet slow_ = 0;  // not looked at any more in this series
  Way current_ = Way::area;
  std::array<std::uint64_t, way_count> best_{};  // of this series; 0: not known
  std::uint32_t rest_ = first_operations;        // operations before the next series
  std::uint32_t next_rest_ = shortest_rest;
  int round_ = 0;
  int at_ = 0;    // the way of the turn, in a series
  int gone_ = 0;  // in this round
};

// Those of a team, by operation and size.
class TeamWays {
 public:
  enum class Policy : std::uint8_t { measure, area, other };

  // `crowded`: ranks share cores.
  TeamWays(Policy policy, int ranks, bool crowded) : policy_(policy), ranks_(ranks), crowded_(crowded) {}

  // No operation has other ways than an area below, so short ones need not look.
  static constexpr std::int64_t least_with_choice = 8 << 10;

  // Null: there is nothing to choose, the way is that of only_way(). `bytes`: known_bytes() of the call.
  MeasuredWays* find(Collective kind, std::int64_t bytes);
  Way only_way(Collective kind, std::int64_t bytes) const;
  // The way of an operation that is not measured.
  Way current(Collective kind, std::int64_t bytes) {
    return bytes < least_with_choice ? Way::area : current_of_long(kind, bytes);
  }

 private:
  Way current_of_long(Collective kind, std::int64_t bytes);

  struct Entry {
    Collective kind;
    std::uint8_t size;  // as a power of two
    MeasuredWays ways;
  };
  Policy policy_;
  int ranks_;
  bool crowded_;
  std::vector<Entry> entries_;  // few; in the order in which they were first needed
};

}  // namespace hawser
