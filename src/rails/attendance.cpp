#include "rails/attendance.h"

#include <utility>

#include "channel/channel_set.h"
#include "rails/rail_engine.h"

namespace hawser {

void RailAttendance::use_rates(const LinkRates& agreed) {
  if (agreed.packet > 0) engine_.resources.use_packets(engine_.eager.packet_bytes_of(agreed.packet));
}

void RailAttendance::begin_turn(ProgramState program) { engine_.context.program = program; }
void RailAttendance::end_turn() { engine_.context.program = ProgramState::waits; }

void RailAttendance::note_waited() { engine_.context.presence.waited = true; }

bool RailAttendance::take_left_reads() {
  return std::exchange(engine_.context.open_reads.without_finishes, false);
}

bool RailAttendance::capped() const { return engine_.recovery.capped(); }

void RailAttendance::want_transfers() { wanted_ |= !engine_.in_progress(); }

void RailAttendance::begin_transfers() {
  if (engine_.in_progress() || !std::exchange(wanted_, false)) return;
  begin_turn(ProgramState::begins);
  engine_.begin_transfers();
  end_turn();
}

// What can take another path later still can: the program may wait next.
void RailAttendance::begin_transfers(Nanoseconds now) {
  if (engine_.in_progress() || !std::exchange(wanted_, false)) return;
  advance_time(engine_.context, now);
  engine_.begin_added_transfers();
}

void RailAttendance::send_bundles() {
  if (engine_.resources.open_bundles > 0 && !engine_.in_progress()) engine_.peers.send_bundles();
}

void RailAttendance::note_interrupts(std::uint64_t useful, std::uint64_t useless, std::uint64_t suppressed) {
  RailCounters& counters = engine_.context.counters;
  counters.interrupts_useful = useful;
  counters.interrupts_useless = useless;
  counters.interrupts_suppressed = suppressed;
}

}  // namespace hawser
