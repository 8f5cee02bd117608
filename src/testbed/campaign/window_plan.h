// WindowPlan: what the ranks of a campaign's job do with each other's windows, drawn from a seed. Each rank
// has one window, of which a part belongs to each origin: only that one writes there, and nobody writes the
// still part behind them. So what must stand in each window after each epoch follows from the plan alone.
//
// Between two flushes an origin writes no byte of a target twice; across a flush it does, so that what is
// written late is noticed.
#pragma once

#include <cstdint>
#include <vector>

#include "base/random.h"
#include "base/time.h"

namespace hawser {

struct PlannedAccess {
  enum class Kind : std::uint8_t {
    put,
    get,        // what stood there when the last flush was over
    get_still,  // of the still part
    flush,      // is waited for
  };
  Kind kind = Kind::put;
  int origin = 0;
  int target = 0;
  std::int32_t offset = 0;  // in the origin's part, or in the still one
  std::int32_t bytes = 0;
  bool in_pieces = false;  // the origin's memory: every other byte of a buffer
  std::uint64_t key = 0;   // of the bytes that are put
};

struct PlannedEpoch {
  std::vector<PlannedAccess> accesses;  // empty: no epoch
  int busy = -1;                        // this rank computes for `computes` meanwhile
  Nanoseconds computes = 0;
};

struct WindowPlan {
  std::int32_t part = 0;  // bytes of a window that belong to each origin, and that are still; 0: no windows
  std::uint64_t key = 0;  // of what stands in the still parts
  std::vector<PlannedEpoch> epochs;  // by phase of the traffic

  bool any() const { return part > 0; }
  std::size_t accesses() const;  // flushes included
};

struct WindowShape {
  int ranks = 2;
  int phases = 8;
  std::int32_t part = 65536;
};

WindowPlan draw_windows(const WindowShape& shape, Random& random);

}  // namespace hawser
