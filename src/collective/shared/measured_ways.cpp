#include "collective/shared/measured_ways.h"

#include <algorithm>
#include <bit>

namespace hawser {

namespace {

// What is worth trying, from how many bytes on: of a rank's block, or of the whole vector of a reduction.
// Otherwise an area was the fastest everywhere. Measured with 2 to 16 ranks on cores that share an L3 cache
// (Xeon, 5th generation) and on two that do not, and with 8 on two cores (doc/performance.md).
struct Candidates {
  std::int64_t from;
  WaySet ways;
};

constexpr Candidates candidates(Collective kind, int ranks, bool crowded) {
  constexpr std::int64_t KiB = 1024;
  constexpr Candidates none = {0, 0};
  switch (kind) {
    case Collective::scatter:
      return {16 * KiB, set_of(Way::area, Way::messages)};
    case Collective::alltoall:
      if (crowded) return {64 * KiB, set_of(Way::area, Way::direct)};
      return {8 * KiB, set_of(Way::area, Way::messages, Way::direct)};
    default:
      break;
  }
  // Messages want more turns on the cores.
  if (crowded) return none;
  switch (kind) {
    case Collective::gather:
      return {16 * KiB, set_of(Way::area, Way::messages)};
    case Collective::broadcast:
      if (ranks > 2) return none;
      return {32 * KiB, set_of(Way::area, Way::messages)};
    case Collective::allgather:
    case Collective::allgatherv:
      return {16 * KiB, set_of(Way::area, Way::messages, Way::direct)};
    // Not by messages, which reduce in another order: sums of floating-point numbers would have other bits
    // from one call to the next.
    case Collective::reduce:
      // Of more ranks' operands, the root alone would have to copy and reduce too many.
      if (ranks <= 4) return {8 * KiB, set_of(Way::area, Way::direct, Way::shares)};
      return {8 * KiB, set_of(Way::area, Way::shares)};
    case Collective::reduce_scatter:
    case Collective::reduce_scatter_block:
      return {16 * KiB, set_of(Way::area, Way::direct)};
    default:
      return none;
  }
}

constexpr bool none_is_below_the_least() {
  for (int kind = 0; kind < collective_kinds; ++kind)
    for (const int ranks : {2, 4, 8})
      for (const bool crowded : {false, true}) {
        const Candidates some = candidates(static_cast<Collective>(kind), ranks, crowded);
        if (some.ways != 0 && some.from < TeamWays::least_with_choice) return false;
      }
  return true;
}
static_assert(none_is_below_the_least());

}  // namespace

MeasuredWays::Turn MeasuredWays::next() {
  if (rest_ == 0 && !in(ways_, at_)) go_on();
  if (rest_ > 0) {
    --rest_;
    return {current_, false};
  }
  return {static_cast<Way>(at_), gone_++ > 0};
}

void MeasuredWays::record(std::uint64_t cost) {
  if (!in(ways_, at_)) return;
  std::uint64_t& best = best_[static_cast<std::size_t>(at_)];
  if (gone_ > not_counted) best = std::max<std::uint64_t>(best == 0 ? cost : std::min(best, cost), 1);
  // Some ways are many times slower.
  const bool slow = best == 0 && least() != 0 && cost > 4 * least();
  if (slow) best = cost;
  if (slow || gone_ == in_a_row) go_on();
}

void MeasuredWays::exclude(Way way) {
  ways_ &= ~set_of(way);
  best_[static_cast<std::size_t>(way)] = 0;
  if (current_ == way) current_ = Way::area;
}

std::uint64_t MeasuredWays::least() const {
  std::uint64_t least = 0;
  for (std::uint64_t best : best_) {
    if (best != 0 && (least == 0 || best < least)) least = best;
  }
  return least;
}

void MeasuredWays::go_on() {
  gone_ = 0;
  do {
    ++at_;
  } while (at_ < way_count && !in(ways_ & ~slow_, at_));
  if (at_ == way_count) end_round();
}

// Ways that are far from the fastest are not gone again.
void MeasuredWays::end_round() {
  at_ = 0;  // the area's
  const std::uint64_t most = least() + least() / 4;
  for (int way = 1; way < way_count; ++way) {
    if (best_[static_cast<std::size_t>(way)] > most) slow_ |= 1U << way;
  }
  const bool alone = (ways_ & ~slow_) == set_of(Way::area);
  if (++round_ == rounds || alone) end_series();
}

void MeasuredWays::end_series() {
  const auto best = [this](int way) { return best_[static_cast<std::size_t>(way)]; };
  const int before = static_cast<int>(current_);
  int fastest = before;
  for (int way = 0; way < way_count; ++way) {
    if (in(ways_, way) && best(way) != 0 && best(way) < best(fastest)) fastest = way;
  }
  // What is only a little better may be so by chance.
  if (fastest != before && best(fastest) < best(before) - best(before) / 20) {
    current_ = static_cast<Way>(fastest);
    next_rest_ = shortest_rest;
  }
  rest_ = next_rest_;
  next_rest_ = std::min(2 * next_rest_, longest_rest);
  best_ = {};
  slow_ = 0;
  round_ = 0;
}

MeasuredWays* TeamWays::find(Collective kind, std::int64_t bytes) {
  if (policy_ != Policy::measure || bytes < least_with_choice) return nullptr;
  const Candidates some = candidates(kind, ranks_, crowded_);
  if (some.ways == 0 || bytes < some.from) return nullptr;
  const auto size = static_cast<std::uint8_t>(std::bit_width(static_cast<std::uint64_t>(bytes)));
  for (Entry& entry : entries_) {
    if (entry.kind == kind && entry.size == size) return &entry.ways;
  }
  entries_.push_back({kind, size, MeasuredWays(some.ways)});
  return &entries_.back().ways;
}

Way TeamWays::only_way(Collective kind, std::int64_t bytes) const {
  const Candidates some = candidates(kind, ranks_, crowded_);
  if (policy_ != Policy::other || some.ways == 0 || bytes < some.from) return Way::area;
  for (const Way way : {Way::direct, Way::shares}) {
    if ((some.ways & set_of(way)) != 0) return way;
  }
  return Way::area;
}

Way TeamWays::current_of_long(Collective kind, std::int64_t bytes) {
  const MeasuredWays* ways = find(kind, bytes);
  return ways != nullptr ? ways->current() : only_way(kind, bytes);
}

}  // namespace hawser
