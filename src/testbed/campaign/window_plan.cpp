#include "testbed/campaign/window_plan.h"

#include <algorithm>

#include "testbed/campaign/drawing.h"

namespace hawser {
namespace {

using Kind = PlannedAccess::Kind;

class WindowDrawing final : Drawing {
 public:
  WindowDrawing(const WindowShape& shape, Random& random) : Drawing(random), shape_(shape) {}

  WindowPlan draw() {
    WindowPlan plan;
    plan.part = shape_.part;
    plan.key = random_.next();
    plan.epochs.resize(static_cast<std::size_t>(shape_.phases));
    for (auto& epoch : plan.epochs)
      if (random_.chance(0.6)) draw_epoch(epoch);
    return plan;
  }

 private:
  struct Pair {
    int origin = 0, target = 0;
    std::int32_t cursor = 0;   // what lies behind it was not written since the last flush
    std::int32_t written = 0;  // up to here something was, before the last flush
  };

  void draw_epoch(PlannedEpoch& planned) {
    std::vector<PlannedAccess>& epoch = planned.accesses;
    std::vector<Pair> pairs;
    for (int i = number(1, 3); i > 0; --i) {
      const int origin = number(0, shape_.ranks - 1);
      const int target = (origin + number(1, shape_.ranks - 1)) % shape_.ranks;
      const auto same = [&](const Pair& each) { return each.origin == origin && each.target == target; };
      if (std::none_of(pairs.begin(), pairs.end(), same)) pairs.push_back({origin, target});
    }
    // An owner that computes answers no fence: what is late has time to do harm.
    if (random_.chance(0.4)) {
      planned.busy = pairs.front().target;
      planned.computes = static_cast<Nanoseconds>(between(50e3, 5e6));
    }
    const bool only_puts = random_.chance(0.3);
    // Or one that writes few bytes again and again, while there is something to be late.
    const bool hammers = planned.busy >= 0 && random_.chance(0.5);
    small_ = hammers;
    for (int i = hammers ? number(50, 150) : number(1, 24); i > 0; --i) {
      Pair& pair = pairs[random_.below(pairs.size())];
      const double dice = random_.uniform();
      if (hammers && dice < 0.4)
        draw_flush(epoch, pair);
      else if (only_puts || dice < 0.6)
        draw_put(epoch, pair);
      else if (dice < 0.8)
        draw_get(epoch, pair);
      else
        draw_flush(epoch, pair);
    }
  }

  PlannedAccess access(Kind kind, const Pair& pair) {
    PlannedAccess access;
    access.kind = kind;
    access.origin = pair.origin;
    access.target = pair.target;
    return access;
  }

  std::int32_t size() {
    const double dice = random_.uniform();
    if (dice < 0.4) return number(1, 64);
    if (small_) return number(65, 6000);
    if (dice < 0.6) return number(65, 4000);
    if (dice < 0.75) return number(4090, 4110);
    if (dice < 0.95) return number(4097, std::max(4097, shape_.part / 4));
    return number(shape_.part / 4, shape_.part);
  }

  void draw_put(std::vector<PlannedAccess>& epoch, Pair& pair) {
    PlannedAccess put = access(Kind::put, pair);
    put.bytes = std::min(size(), shape_.part);
    put.in_pieces = random_.chance(0.15);
    put.key = random_.next();
    const std::int32_t gap = random_.chance(0.3) ? number(1, 300) : 0;
    if (pair.cursor + gap + put.bytes > shape_.part) draw_flush(epoch, pair);
    put.offset = std::min(pair.cursor + gap, shape_.part - put.bytes);
    pair.cursor = put.offset + put.bytes;
    epoch.push_back(put);
  }

  void draw_get(std::vector<PlannedAccess>& epoch, Pair& pair) {
    PlannedAccess get = access(Kind::get_still, pair);
    std::int32_t from = 0, limit = shape_.part;
    if (pair.written > 0 && random_.chance(0.6)) {
      // What was put before the flush, and is not written again until the next one.
      draw_flush(epoch, pair);
      get.kind = Kind::get;
      limit = pair.written;
      pair.cursor = limit;
    }
    get.bytes = std::min(size(), limit - from);
    get.offset = static_cast<std::int32_t>(random_.below(static_cast<std::uint64_t>(limit - get.bytes + 1)));
    get.in_pieces = random_.chance(0.15);
    epoch.push_back(get);
  }

  void draw_flush(std::vector<PlannedAccess>& epoch, Pair& pair) {
    epoch.push_back(access(Kind::flush, pair));
    pair.written = std::max(pair.written, pair.cursor);
    pair.cursor = 0;
  }

  const WindowShape& shape_;
  bool small_ = false;  // the accesses of this epoch
};

}  // namespace

std::size_t WindowPlan::accesses() const {
  std::size_t count = 0;
  for (const PlannedEpoch& epoch : epochs) count += epoch.accesses.size();
  return count;
}

WindowPlan draw_windows(const WindowShape& shape, Random& random) {
  return WindowDrawing(shape, random).draw();
}

}  // namespace hawser
