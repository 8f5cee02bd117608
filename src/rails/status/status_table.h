// RailStatus: what the rails tell the outside: the table that `hawser top` shows (status_layout.h) and the
// event log. Channel code calls it wherever something changes; every call is cheap, takes `now`, and does
// nothing where nobody asked (no table, no log). It is told, never asked: no decision depends on it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/line_sink.h"
#include "base/time.h"
#include "channel/transport.h"
#include "rails/decision/path_reason.h"
#include "rails/status/rail_counters.h"
#include "rails/status/status_layout.h"

namespace hawser {

// How a subchannel stands: its state (doc/rails.md) with its health.
enum class PathCondition : std::uint8_t {
  closed,
  connecting,
  ready,
  suspect,
  stopping,
  fencing,
  failed,
  probing,
};
const char* path_condition_name(PathCondition condition);
inline constexpr int path_conditions = 8;

enum class PathEvent : std::uint8_t {
  condition_changed,  // value: the new PathCondition
  fence_sent,         // value: stripes asked about
  fence_answered,     // value: nanoseconds since it was sent
  reissued,           // value: bytes
  attempt,            // value: number since the failure
  migrated,           // the adapter took the alternate path; value: its port
  alternate_loaded,   // and armed; value: its port
  partitioned,        // no subchannel to the peer works
  rejoined,           // value: nanoseconds since it was partitioned
  peer_lost,
  port_changed,     // value: twice the number of the rail, plus 1 if its port is active
  no_path_records,  // the subnet's administrator does not answer, or may not be asked; value: number of the
                    // rail
  no_partition,     // the port is not in the partition of the path record; value: the P_Key
  blamed,           // for the failure of the path, whose reason follows; value: FaultLocation
};
const char* path_event_name(PathEvent event);
inline constexpr int path_events = 14;

// The members of RailCounters with their names, in order.
struct CounterName {
  std::string_view name;
  std::uint64_t (*value)(const RailCounters& counters);
};
std::span<const CounterName> rail_counter_names();

// An event as the log has it; `path` null: of no path in particular.
std::string event_line(const EventRecord& event, std::int32_t rank, const PathStatus* path);

struct PathLabel {
  ProcessIndex peer = -1;
  std::uint16_t subchannel = 0;
  std::uint16_t rail = 0;
  std::uint16_t path = 0;
  std::uint16_t engine = 0;
  std::string_view port;  // "mlx4_0/1", at this end
};

// The node of a process as the table has it.
std::uint16_t status_node(std::span<const std::int32_t> nodes, ProcessIndex process);

class RailStatus {
 public:
  // Neither table nor log: all calls do nothing.
  RailStatus() = default;
  // `memory`: zeroed, aligned to 64, from table_bytes() on; empty: no table. Both outlive this.
  // `nodes`: of all processes, by rank; empty: unknown.
  RailStatus(std::span<std::byte> memory, LineSink* log, const StatusIdentity& identity,
             std::span<const std::int32_t> nodes = {});
  RailStatus(const RailStatus&) = delete;
  RailStatus& operator=(const RailStatus&) = delete;

  static std::size_t table_bytes(std::uint32_t rows);

  // A row for a path, to be named in the calls below: once for each subchannel, when it is made. -1, which
  // all calls take and ignore, when there is neither table nor log. Paths beyond the table's room are only
  // logged.
  int add_path(const PathLabel& label);

  // On change only: also an event. Leaving use other than by slowness or on purpose counts as a failure.
  // Reason none: what was said last goes on.
  void set_condition(int row, PathCondition condition, std::uint32_t connection_generation, PathReason reason,
                     Nanoseconds now);
  void set_weight(int row, double bytes_per_second);
  // Of a smallest packet and its acknowledgement; 0: not known.
  void set_round_trip(int row, Nanoseconds time);
  // Bytes handed to the adapter; completed with success; given up (flushed, unknown).
  void posted(int row, std::int64_t bytes) { add_in_flight(row, bytes); }
  void completed(int row, std::int64_t bytes);
  void sent(int row, std::int64_t bytes);  // packets: never counted as in flight
  void withdrawn(int row, std::int64_t bytes) { add_in_flight(row, -bytes); }
  // `row` -1 for what concerns a peer as a whole; `peer` -1 for what concerns no one in particular.
  void on_event(int row, ProcessIndex peer, PathEvent event, PathReason reason, std::int64_t value,
                Nanoseconds now);
  // Now and then: readers see the last ones published.
  void publish(const RailCounters& counters);
  // How many events there were, and one of the last `recent_events` of them by number, from 0; none without a
  // table.
  std::uint64_t events() const { return header_ == nullptr ? 0 : events_; }
  std::optional<EventRecord> recent(std::uint64_t number) const;
  bool wanted() const { return header_ != nullptr || log_ != nullptr; }

 private:
  void add_in_flight(int row, std::int64_t bytes);

  StatusHeader* header_ = nullptr;
  StatusRow* rows_ = nullptr;
  std::uint32_t capacity_ = 0;
  LineSink* log_ = nullptr;
  std::int32_t rank_ = 0;
  std::vector<std::int32_t> nodes_;
  std::uint64_t events_ = 0;
  // What the log needs of each path; like the rows, but without their bound.
  std::vector<PathStatus> paths_;
};

}  // namespace hawser
