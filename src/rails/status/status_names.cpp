// The names of what the status table shows, as people and the event log's readers see them.
#include "base/enum_names.h"
#include "rails/status/status_table.h"

namespace hawser {

static_assert(path_conditions == enumerators<PathCondition>);
const char* path_condition_name(PathCondition condition) { return enum_name(condition); }

static_assert(path_events == enumerators<PathEvent>);
const char* path_event_name(PathEvent event) { return enum_name(event); }

namespace {

#define HAWSER_COUNTER(name)                                                                      \
  {                                                                                               \
#name, [](const RailCounters& counters) { return static_cast<std::uint64_t>(counters.name); } \
  }

// In the order of rail_counters.h, one a line.
// clang-format off
constexpr CounterName counter_names[] = {
    HAWSER_COUNTER(packets_sent),
    HAWSER_COUNTER(packets_received),
    HAWSER_COUNTER(out_of_order),
    HAWSER_COUNTER(credit_updates), HAWSER_COUNTER(messages_bundled),
    HAWSER_COUNTER(rails_timed), HAWSER_COUNTER(no_room),
    HAWSER_COUNTER(stripes_written),
    HAWSER_COUNTER(stripes_read),
    HAWSER_COUNTER(stripes_put),
    HAWSER_COUNTER(confirming_reads),
    HAWSER_COUNTER(read_tokens_waited),
    HAWSER_COUNTER(bytes_striped),
    HAWSER_COUNTER(bytes_blocking),
    HAWSER_COUNTER(bytes_nonblocking),
    HAWSER_COUNTER(bytes_collective),
    HAWSER_COUNTER(bytes_one_sided),
    HAWSER_COUNTER(registration_hits),
    HAWSER_COUNTER(registrations_made),
    HAWSER_COUNTER(registrations_dropped),
    HAWSER_COUNTER(registrations_refused),
    HAWSER_COUNTER(packets_for_stripes),
    HAWSER_COUNTER(connections_made), HAWSER_COUNTER(connections_on_demand),
    HAWSER_COUNTER(connections_closed), HAWSER_COUNTER(demands_refused),
    HAWSER_COUNTER(closings_asked),
    HAWSER_COUNTER(closings_refused),
    HAWSER_COUNTER(closings_agreed),
    HAWSER_COUNTER(connections_beyond_cap),
    HAWSER_COUNTER(queue_pairs),
    HAWSER_COUNTER(queue_pairs_most),
    HAWSER_COUNTER(packet_bytes),
    HAWSER_COUNTER(peer_bytes),
    HAWSER_COUNTER(failures),
    HAWSER_COUNTER(failed_again),
    HAWSER_COUNTER(late_failures),
    HAWSER_COUNTER(errors_completed),
    HAWSER_COUNTER(protection_errors),
    HAWSER_COUNTER(watchdog),
    HAWSER_COUNTER(port_events),
    HAWSER_COUNTER(drain_time_outs),
    HAWSER_COUNTER(fences_sent),
    HAWSER_COUNTER(fences_answered),
    HAWSER_COUNTER(packets_reissued),
    HAWSER_COUNTER(stripes_reissued),
    HAWSER_COUNTER(bytes_reissued),
    HAWSER_COUNTER(already_arrived),
    HAWSER_COUNTER(taken_back),
    HAWSER_COUNTER(recoveries),
    HAWSER_COUNTER(probes_failed),
    HAWSER_COUNTER(quarantined),
    HAWSER_COUNTER(cleared),
    HAWSER_COUNTER(alternates_armed),
    HAWSER_COUNTER(migrations),
    HAWSER_COUNTER(migrations_failed),
    HAWSER_COUNTER(adapters_reopened),
    HAWSER_COUNTER(path_queries),
    HAWSER_COUNTER(path_records_unavailable),
    HAWSER_COUNTER(partitions),
    HAWSER_COUNTER(peers_lost),
    HAWSER_COUNTER(checksum_errors),
    HAWSER_COUNTER(dropped_stale),
    HAWSER_COUNTER(dropped_duplicate),
    HAWSER_COUNTER(dropped_malformed),
    HAWSER_COUNTER(dropped_datagrams),
    HAWSER_COUNTER(interrupts_useful), HAWSER_COUNTER(interrupts_useless),
    HAWSER_COUNTER(interrupts_suppressed),
    HAWSER_COUNTER(packets_by_datagram), HAWSER_COUNTER(datagrams_repeated),
    HAWSER_COUNTER(peers_retired), HAWSER_COUNTER(peers_restored),
    HAWSER_COUNTER(multicast_groups), HAWSER_COUNTER(multicast_sent), HAWSER_COUNTER(multicast_received),
    HAWSER_COUNTER(multicast_dropped), HAWSER_COUNTER(last_failure), HAWSER_COUNTER(last_resumption),
};
// clang-format on
#undef HAWSER_COUNTER

static_assert(sizeof(RailCounters) == std::size(counter_names) * 8, "a counter without a name");
static_assert(std::size(counter_names) <= status_counters);

}  // namespace

std::span<const CounterName> rail_counter_names() { return counter_names; }

}  // namespace hawser
