#include "rails/attendance.h"

#include <utility>

#include "rails/rail_engine.h"

namespace hawser {

void RailAttendance::begin_wait() { ++engine_.context.waits; }

bool RailAttendance::end_wait() {
  RailContext& context = engine_.context;
  return --context.waits == 0 && std::exchange(context.reads_without_finishes, false);
}

void RailAttendance::want_transfers() { wanted_ |= engine_.moves_at_once() && !engine_.in_progress(); }

void RailAttendance::begin_transfers() {
  if (!engine_.in_progress() && std::exchange(wanted_, false)) engine_.begin_transfers();
}

void RailAttendance::note_interrupts(std::uint64_t useful, std::uint64_t useless, std::uint64_t suppressed) {
  RailCounters& counters = engine_.context.counters;
  counters.interrupts_useful = useful;
  counters.interrupts_useless = useless;
  counters.interrupts_suppressed = suppressed;
}

}  // namespace hawser
