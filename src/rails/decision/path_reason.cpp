#include "rails/decision/path_reason.h"

#include "base/assert.h"

namespace hawser {

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

}  // namespace hawser
