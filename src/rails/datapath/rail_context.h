// RailContext: what every part of a process's rails may know: who we are, the knobs, the time of this pass of
// progress, the counters, and where to report. Plain data; it knows no other part.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/knobs.h"
#include "base/random.h"
#include "channel/transport.h"
#include "rails/datapath/rail_settings.h"
#include "rails/decision/congestion_window.h"
#include "rails/decision/finish_choice.h"
#include "rails/decision/path_health.h"
#include "rails/decision/path_silence.h"
#include "rails/decision/subchannel_machine.h"
#include "rails/status/rail_counters.h"
#include "rails/status/status_table.h"
#include "rails/wire/packet.h"
#include "rails/wire/pairing.h"

namespace hawser {

// What HAWSER_RAIL_PATHS and HAWSER_RAIL_ENGINES mean with that policy.
Ways ways_of(const Knobs& knobs);

// What is known of when the process was in a call.
struct Presence {
  bool waited = false;  // since the last pass it did nothing but wait
  // When the clock was read again after the program had computed: what was posted before may have been so
  // only then.
  Nanoseconds resumed = 0;
};

// Of large messages.
struct OpenReads {
  bool without_finishes = false;  // were posted
  std::uint32_t exposed = 0;      // messages that peers may be reading
};

// Bytes behind every packet.
inline std::size_t trailer_of(const Knobs& knobs) { return knobs.checksum ? checksum_bytes : 0; }

struct RailContext {
  RailContext(const RailSettings& rail_settings, const Knobs& knob_values, std::uint64_t seed);
  RailContext(const RailContext&) = delete;
  RailContext& operator=(const RailContext&) = delete;

  std::size_t trailer() const { return trailer_of(knobs); }
  // How long an adapter is silent, with the knobs as they are, before it gives a connection up.
  Nanoseconds adapter_patience() const { return knobs.rail_acknowledge_time * (knobs.rail_retries + 1); }
  // Something was posted, which will be overdue some time, or a timer is due: somebody has to look.
  void wake_sleeper() {
    if (alarm != nullptr) [[unlikely]]
      std::exchange(alarm, nullptr)->ring();
  }
  // A peer sent what no process of this job can mean, however late or often it came; `what` goes on after
  // "rank 3 sent ". To be told within progress.
  void report_malformed(ProcessIndex process, std::string what);
  void report_short(ProcessIndex process, std::string_view kind, std::size_t bytes);

  const RailSettings settings;
  const Knobs knobs;
  const Ways ways;
  RailStatus no_status;
  RailStatus& status;
  Random random;
  RailCounters counters;
  Nanoseconds now = 0;
  TransportEvents* events = nullptr;  // during progress
  DeadlineAlarm* alarm = nullptr;     // to be rung by wake_sleeper()
  // If it does not wait, this end's software may not be there when a read ends.
  ProgramState program = ProgramState::waits;
  Presence presence;
  OpenReads open_reads;
  HealthSettings health;
  SubchannelSettings subchannels;
  SilenceSettings silence;
  FlowSettings stripe_flow, port_flow, packet_flow;
};

// The process reads the clock once in many passes, which is not enough where the time of a request counts.
inline void read_clock(RailContext& context) {
  if (context.settings.clock != nullptr) context.now = context.settings.clock->now();
}
// A time that the process has read may be older than that.
inline void advance_time(RailContext& context, Nanoseconds now) {
  constexpr Nanoseconds longest_call = 20 * microsecond;
  if (now - context.now > longest_call && !context.presence.waited) context.presence.resumed = now;
  context.now = std::max(context.now, now);
}

}  // namespace hawser
