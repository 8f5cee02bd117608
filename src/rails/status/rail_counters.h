// What a RailChannel counts. Statistics, the status table and the campaign of faults read it. The names stand
// in status_names.cpp once more.
#pragma once

#include <cstdint>

#include "base/assert.h"
#include "base/time.h"
#include "channel/traffic_class.h"

namespace hawser {

struct RailCounters {
  // Traffic.
  std::uint64_t packets_sent = 0, packets_received = 0;
  std::uint64_t out_of_order = 0;                       // packets that had to wait for an earlier one
  std::uint64_t credit_updates = 0;                     // packets that carried nothing else
  std::uint64_t messages_bundled = 0;                   // that shared a packet, or waited for others to
  std::uint64_t rails_timed = 0;                        // times there and back over idle rails
  std::uint64_t no_room = 0;                            // sends that were told to try again
  std::uint64_t stripes_written = 0, stripes_read = 0;  // of rendezvous; and what is got from windows
  std::uint64_t stripes_put = 0;                        // written into windows
  std::uint64_t confirming_reads = 0;                   // behind these
  std::uint64_t read_tokens_waited = 0;                 // reads that waited for a token
  std::uint64_t bytes_striped = 0;
  // Of these, by the class that the scheduling policy was told when it planned them.
  std::uint64_t bytes_blocking = 0, bytes_nonblocking = 0, bytes_collective = 0, bytes_one_sided = 0;
  // Users' buffers: found registered, registered (with one device each), given up because their memory went
  // away or for the limits, refused by the system.
  std::uint64_t registration_hits = 0, registrations_made = 0, registrations_dropped = 0;
  std::uint64_t registrations_refused = 0;
  std::uint64_t packets_for_stripes = 0;  // that took bytes of large messages, for lack of registrations
  // Queue pairs that were connected, those of them on demand, and closed on purpose; such on demand as came
  // to nothing; peers that this process asked to part, that refused, that asked this process and were obeyed;
  // peers connected with beyond the cap.
  std::uint64_t connections_made = 0, connections_on_demand = 0, connections_closed = 0;
  std::uint64_t demands_refused = 0;
  std::uint64_t closings_asked = 0, closings_refused = 0, closings_agreed = 0;
  std::uint64_t connections_beyond_cap = 0;
  // Memory: queue pairs now and at most at once, packet buffers, what is kept for peers that were ever known.
  std::uint64_t queue_pairs = 0, queue_pairs_most = 0;
  std::uint64_t packet_bytes = 0, peer_bytes = 0;
  // Faults.
  std::uint64_t failures = 0;           // of subchannels
  std::uint64_t failed_again = 0;       // of these, of subchannels that had failed before
  std::uint64_t late_failures = 0;      // silent for over 0.1 s, though others got through and it was quick
  std::uint64_t errors_completed = 0;   // work requests completed with an error, flushes not counted
  std::uint64_t protection_errors = 0;  // of those, a key or bounds refused: a fault of software
  std::uint64_t watchdog = 0;           // failures that the watchdog noticed
  std::uint64_t port_events = 0;
  std::uint64_t drain_time_outs = 0;
  std::uint64_t fences_sent = 0, fences_answered = 0;
  std::uint64_t packets_reissued = 0, stripes_reissued = 0, bytes_reissued = 0;
  std::uint64_t already_arrived = 0;  // unknown requests that the peer had
  std::uint64_t taken_back = 0;       // requests that the peer's adapter acknowledged and lost
  std::uint64_t recoveries = 0;       // subchannels that were ready again
  std::uint64_t probes_failed = 0;
  std::uint64_t quarantined = 0;  // subchannels avoided because of what is to blame for another's failure
  std::uint64_t cleared = 0;      // of these, well when they were tested
  std::uint64_t alternates_armed = 0;   // of automatic path migration
  std::uint64_t migrations = 0;         // by the adapter, noticed at this end
  std::uint64_t migrations_failed = 0;  // left to software
  std::uint64_t adapters_reopened = 0;
  std::uint64_t path_queries = 0;              // to subnet administrators
  std::uint64_t path_records_unavailable = 0;  // times that a rail's administrator was found not to answer
  std::uint64_t partitions = 0;
  std::uint64_t peers_lost = 0;
  std::uint64_t checksum_errors = 0;
  // What arrived and was not believed.
  std::uint64_t dropped_stale = 0;  // of an old generation or a transfer that is over
  std::uint64_t dropped_duplicate = 0;
  std::uint64_t dropped_malformed = 0;
  std::uint64_t dropped_datagrams = 0;  // whose check did not fit the job's secret, or malformed
  // Interrupts while the program computes: those that found something to do, those that found nothing or the
  // program in a call of MPI, and how often none was asked for because they had been of no use.
  std::uint64_t interrupts_useful = 0, interrupts_useless = 0, interrupts_suppressed = 0;
  // Packets that went by datagram, for there was no connection; and how often one was sent again.
  std::uint64_t packets_by_datagram = 0, datagrams_repeated = 0;
  // Peers of which little was kept, for they were not spoken to, and such as were spoken to again.
  std::uint64_t peers_retired = 0, peers_restored = 0;
  // Multicast groups that were attached to, and packets of groups: sent, received, and not believed.
  std::uint64_t multicast_groups = 0, multicast_sent = 0, multicast_received = 0, multicast_dropped = 0;
  // Times of the last failover: noticed, and first reissued byte posted.
  Nanoseconds last_failure = 0, last_resumption = 0;

  std::uint64_t& bytes_of(TrafficClass traffic) {
    switch (traffic) {
      case TrafficClass::blocking:
        return bytes_blocking;
      case TrafficClass::nonblocking:
        return bytes_nonblocking;
      case TrafficClass::collective:
        return bytes_collective;
      case TrafficClass::one_sided:
        return bytes_one_sided;
    }
    HAWSER_UNREACHABLE();
  }
};

}  // namespace hawser
