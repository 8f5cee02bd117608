// Why a path changed its state, as the event log, `hawser top` and the failover say it.
#pragma once

#include <cstdint>

namespace hawser {

enum class PathReason : std::uint8_t {
  none,
  first_connection,
  recovery,
  completion_error,  // retries exceeded and the like
  receiver_not_ready,
  remote_access,
  watchdog,  // outstanding, and nothing completed for too long
  port_down,
  port_active,
  device_fatal,
  queue_pair_fatal,
  peer_asked,  // a fence of the peer's came first
  migration_failed,
  connect_failed,
  probe_failed,
  checksum,
  slow,
  well_again,
  torn_down,  // on purpose: cap on connections, finalize
  blamed,     // the port or the peer is held responsible (fault_location.h)
  reopened,   // connected again after it was torn down
};
const char* path_reason_name(PathReason reason);
inline constexpr int path_reasons = 21;

}  // namespace hawser
