#include "rails/datapath/rail_context.h"

#include <fmt/core.h>

#include <algorithm>

#include "rails/policy/scheduling_policy.h"
#include "rails/wire/packet.h"

namespace hawser {
namespace {

// More paths hardly find a free one that these do not; the adapters of the papers have two engines or four.
constexpr std::int32_t most_paths_of_auto = 8, most_engines_of_auto = 4;
// Bytes under way over a path of which nothing is known.
constexpr std::int64_t first_window = 16384;

}  // namespace

// Only a policy that prefers some connections leaves those alone that are not needed.
Ways ways_of(const Knobs& knobs) {
  const auto policy = make_scheduling_policy(knobs.rail_policy, 0);
  const bool chooses = policy && policy.value()->prefers();
  const std::int32_t paths = parse_ways("HAWSER_RAIL_PATHS", knobs.rail_paths, most_paths).value();
  const std::int32_t engines = parse_ways("HAWSER_RAIL_ENGINES", knobs.rail_engines, most_engines).value();
  Ways ways;
  ways.paths_on_demand = paths == 0;
  ways.engines_on_demand = engines == 0;
  ways.paths = paths > 0 ? paths : chooses ? most_paths_of_auto : 1;
  ways.engines = engines > 0 ? engines : chooses ? most_engines_of_auto : 1;
  return ways;
}

// Where a thread goes on while the program computes, small messages would wait for the program, not for it.
static Knobs effective(Knobs knobs) {
  if (knobs.progress == "interrupt") knobs.rail_bundle = 1;
  return knobs;
}

RailContext::RailContext(const RailSettings& rail_settings, const Knobs& knob_values, std::uint64_t seed)
    : settings(rail_settings),
      knobs(effective(knob_values)),
      ways(ways_of(knob_values)),
      status(rail_settings.status != nullptr ? *rail_settings.status : no_status),
      random(seed),
      now(rail_settings.clock != nullptr ? rail_settings.clock->now() : 0),
      subchannels{knob_values.rail_failover, knob_values.rail_drain_time},
      silence{knob_values.rail_silence, knob_values.rail_watchdog, adapter_patience()} {
  // Requests of one path wait for acknowledgements behind the other direction's data; so they are given more
  // than what is under way into a port, where it only makes others wait.
  stripe_flow.queueing = std::clamp(knobs.rail_acknowledge_time / 2, 100 * microsecond, 8 * millisecond);
  stripe_flow.first = std::max(knobs.rail_stripe, first_window);
  port_flow = stripe_flow;
  port_flow.queueing = std::clamp(knobs.rail_acknowledge_time / 4, 100 * microsecond, 4 * millisecond);
  packet_flow = {.queueing = port_flow.queueing, .first = 4096, .least = 1024};
}

void RailContext::report_malformed(ProcessIndex process, std::string what) {
  ++counters.dropped_malformed;
  if (events != nullptr) events->on_bad_packet(process, std::move(what));
}

void RailContext::report_short(ProcessIndex process, std::string_view kind, std::size_t bytes) {
  report_malformed(process, fmt::format("{} of only {} bytes", kind, bytes));
}

}  // namespace hawser
