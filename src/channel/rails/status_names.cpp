// The names of what the status table shows, as people and the event log's readers see them.
#include "base/assert.h"
#include "channel/rails/status_table.h"

namespace hawser {

const char* path_condition_name(PathCondition condition) {
  switch (condition) {
    case PathCondition::closed:
      return "closed";
    case PathCondition::connecting:
      return "connecting";
    case PathCondition::ready:
      return "ready";
    case PathCondition::suspect:
      return "suspect";
    case PathCondition::stopping:
      return "stopping";
    case PathCondition::fencing:
      return "fencing";
    case PathCondition::failed:
      return "failed";
    case PathCondition::probing:
      return "probing";
  }
  HAWSER_UNREACHABLE();
}

const char* path_reason_name(PathReason reason) {
  switch (reason) {
    case PathReason::none:
      return "none";
    case PathReason::first_connection:
      return "first_connection";
    case PathReason::recovery:
      return "recovery";
    case PathReason::completion_error:
      return "completion_error";
    case PathReason::receiver_not_ready:
      return "receiver_not_ready";
    case PathReason::remote_access:
      return "remote_access";
    case PathReason::watchdog:
      return "watchdog";
    case PathReason::port_down:
      return "port_down";
    case PathReason::port_active:
      return "port_active";
    case PathReason::device_fatal:
      return "device_fatal";
    case PathReason::queue_pair_fatal:
      return "queue_pair_fatal";
    case PathReason::peer_asked:
      return "peer_asked";
    case PathReason::migration_failed:
      return "migration_failed";
    case PathReason::connect_failed:
      return "connect_failed";
    case PathReason::probe_failed:
      return "probe_failed";
    case PathReason::checksum:
      return "checksum";
    case PathReason::slow:
      return "slow";
    case PathReason::well_again:
      return "well_again";
    case PathReason::torn_down:
      return "torn_down";
    case PathReason::blamed:
      return "blamed";
  }
  HAWSER_UNREACHABLE();
}

const char* path_event_name(PathEvent event) {
  switch (event) {
    case PathEvent::condition_changed:
      return "condition_changed";
    case PathEvent::fence_sent:
      return "fence_sent";
    case PathEvent::fence_answered:
      return "fence_answered";
    case PathEvent::reissued:
      return "reissued";
    case PathEvent::attempt:
      return "attempt";
    case PathEvent::migrated:
      return "migrated";
    case PathEvent::alternate_loaded:
      return "alternate_loaded";
    case PathEvent::partitioned:
      return "partitioned";
    case PathEvent::rejoined:
      return "rejoined";
    case PathEvent::peer_lost:
      return "peer_lost";
    case PathEvent::port_changed:
      return "port_changed";
  }
  HAWSER_UNREACHABLE();
}

const char* status_counter_name(StatusCounter counter) {
  switch (counter) {
    case StatusCounter::messages_eager:
      return "messages_eager";
    case StatusCounter::messages_write:
      return "messages_write";
    case StatusCounter::messages_read:
      return "messages_read";
    case StatusCounter::stripes:
      return "stripes";
    case StatusCounter::bytes_sent:
      return "bytes_sent";
    case StatusCounter::out_of_order_held:
      return "out_of_order_held";
    case StatusCounter::failures:
      return "failures";
    case StatusCounter::fences:
      return "fences";
    case StatusCounter::packets_reissued:
      return "packets_reissued";
    case StatusCounter::stripes_reissued:
      return "stripes_reissued";
    case StatusCounter::duplicates_dropped:
      return "duplicates_dropped";
    case StatusCounter::stale_dropped:
      return "stale_dropped";
    case StatusCounter::malformed_dropped:
      return "malformed_dropped";
    case StatusCounter::attempts:
      return "attempts";
    case StatusCounter::recoveries:
      return "recoveries";
    case StatusCounter::partitions:
      return "partitions";
    case StatusCounter::migrations:
      return "migrations";
    case StatusCounter::checksum_mismatches:
      return "checksum_mismatches";
    case StatusCounter::registrations:
      return "registrations";
    case StatusCounter::registration_hits:
      return "registration_hits";
    case StatusCounter::registration_evictions:
      return "registration_evictions";
    case StatusCounter::window_full:
      return "window_full";
  }
  HAWSER_UNREACHABLE();
}

}  // namespace hawser
