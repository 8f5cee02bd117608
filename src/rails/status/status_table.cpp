#include "rails/status/status_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>

#include "base/assert.h"
#include "rails/decision/fault_location.h"

namespace hawser {
namespace {

void copy_text(std::span<char> into, std::string_view text) {
  const std::size_t bytes = std::min(text.size(), into.size() - 1);
  std::copy_n(text.data(), bytes, into.data());
  std::fill(into.begin() + static_cast<std::ptrdiff_t>(bytes), into.end(), '\0');
}

bool in_use(PathCondition condition) {
  return condition == PathCondition::ready || condition == PathCondition::suspect ||
         condition == PathCondition::probing;
}

// There is one writer: no read-modify-write needed.
template <class T>
void add(std::atomic<T>& word, T n) {
  word.store(word.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
}

// What the value of an event means, for people.
std::string value_text(PathEvent event, std::int64_t value) {
  switch (event) {
    case PathEvent::condition_changed:
      if (value < 0 || value >= path_conditions) return {};
      return fmt::format(" condition={}", path_condition_name(static_cast<PathCondition>(value)));
    case PathEvent::fence_sent:
      return fmt::format(" stripes={}", value);
    case PathEvent::fence_answered:
    case PathEvent::rejoined:
      return fmt::format(" after_us={}", value / microsecond);
    case PathEvent::reissued:
      return fmt::format(" bytes={}", value);
    case PathEvent::attempt:
      return fmt::format(" attempt={}", value);
    case PathEvent::port_changed:
      return fmt::format(" rail={} port={}", value / 2, value % 2 != 0 ? "active" : "down");
    case PathEvent::no_path_records:
      return fmt::format(" rail={}", value);
    case PathEvent::no_partition:
      return fmt::format(" p_key={:#06x}", value);
    case PathEvent::blamed:
      if (value < 0 || value >= fault_locations) return {};
      return fmt::format(" location={}", fault_location_name(static_cast<FaultLocation>(value)));
    case PathEvent::migrated:
    case PathEvent::alternate_loaded:
      return fmt::format(" to_port={}", value);
    case PathEvent::partitioned:
    case PathEvent::peer_lost:
      return {};
  }
  HAWSER_UNREACHABLE();
}

}  // namespace

std::string event_line(const EventRecord& event, std::int32_t rank, const PathStatus* path) {
  std::string line = fmt::format("{}.{:09} rank={}", event.time / second, event.time % second, rank);
  if (event.peer >= 0) line += fmt::format(" peer={}", event.peer);
  if (path != nullptr)
    line += fmt::format(" subchannel={} port={} path={} generation={}", path->subchannel, path->port,
                        path->path, path->connection_generation);
  // Numbers may come from a process of another version.
  if (event.event < path_events) {
    line += fmt::format(" event={}", path_event_name(static_cast<PathEvent>(event.event)));
    line += value_text(static_cast<PathEvent>(event.event), event.value);
  }
  const auto reason = static_cast<PathReason>(event.reason);
  if (reason != PathReason::none && event.reason < path_reasons)
    line += fmt::format(" reason={}", path_reason_name(reason));
  return line;
}

std::size_t RailStatus::table_bytes(std::uint32_t rows) {
  return status_header_bytes + std::size_t{rows} * sizeof(StatusRow);
}

std::uint16_t status_node(std::span<const std::int32_t> nodes, ProcessIndex process) {
  if (process < 0 || static_cast<std::size_t>(process) >= nodes.size()) return unknown_node;
  const std::int32_t node = nodes[static_cast<std::size_t>(process)];
  return node >= 0 && node < unknown_node ? static_cast<std::uint16_t>(node) : unknown_node;
}

RailStatus::RailStatus(std::span<std::byte> memory, LineSink* log, const StatusIdentity& identity,
                       std::span<const std::int32_t> nodes)
    : log_(log), rank_(identity.rank), nodes_(nodes.begin(), nodes.end()) {
  if (memory.empty()) return;
  HAWSER_ASSERT(memory.size() >= table_bytes(0));
  HAWSER_ASSERT(reinterpret_cast<std::uintptr_t>(memory.data()) % 64 == 0);
  capacity_ = static_cast<std::uint32_t>((memory.size() - status_header_bytes) / sizeof(StatusRow));
  // Pages of rows are touched only when paths need them: the memory comes zeroed, which is what a row starts
  // as.
  header_ = ::new (memory.data()) StatusHeader;
  rows_ = reinterpret_cast<StatusRow*>(memory.data() + status_header_bytes);
  header_->header_bytes = status_header_bytes;
  header_->row_bytes = sizeof(StatusRow);
  header_->row_capacity = capacity_;
  header_->identity.store(identity);
  header_->magic.store(status_magic, std::memory_order_release);
}

int RailStatus::add_path(const PathLabel& label) {
  if (header_ == nullptr && log_ == nullptr) return -1;
  PathStatus facts;
  facts.peer = label.peer;
  facts.subchannel = label.subchannel;
  facts.rail = label.rail;
  facts.path = label.path;
  facts.engine = label.engine;
  facts.peer_node = status_node(nodes_, label.peer);
  copy_text(facts.port, label.port);
  const std::size_t row = paths_.size();
  paths_.push_back(facts);
  if (row < capacity_) {
    rows_[row].facts.store(facts);
    header_->rows.store(row + 1, std::memory_order_release);
  } else if (header_ != nullptr) {
    add(header_->rows_lost, std::uint64_t{1});
  }
  return static_cast<int>(row);
}

void RailStatus::set_condition(int row, PathCondition condition, std::uint32_t connection_generation,
                               PathReason reason, Nanoseconds now) {
  if (row < 0) return;
  PathStatus& facts = paths_[static_cast<std::size_t>(row)];
  const auto before = static_cast<PathCondition>(facts.state);
  if (before == condition && facts.connection_generation == connection_generation) return;
  if (in_use(before) && !in_use(condition) && reason != PathReason::torn_down) ++facts.failures;
  facts.state = static_cast<std::uint8_t>(condition);
  if (reason != PathReason::none) facts.last_reason = static_cast<std::uint8_t>(reason);
  facts.connection_generation = connection_generation;
  facts.last_change = now;
  if (static_cast<std::uint32_t>(row) < capacity_) rows_[row].facts.store(facts);
  on_event(row, facts.peer, PathEvent::condition_changed, reason, static_cast<std::int64_t>(condition), now);
}

void RailStatus::set_weight(int row, double bytes_per_second) {
  if (row < 0 || static_cast<std::uint32_t>(row) >= capacity_) return;
  rows_[row].bytes_per_second.store(static_cast<std::int64_t>(bytes_per_second), std::memory_order_relaxed);
}

void RailStatus::set_round_trip(int row, Nanoseconds time) {
  if (row < 0 || static_cast<std::uint32_t>(row) >= capacity_) return;
  rows_[row].round_trip.store(time, std::memory_order_relaxed);
}

void RailStatus::sent(int row, std::int64_t bytes) {
  if (row < 0 || static_cast<std::uint32_t>(row) >= capacity_) return;
  add(rows_[row].bytes_done, static_cast<std::uint64_t>(bytes));
  add(rows_[row].requests_done, std::uint64_t{1});
}

void RailStatus::completed(int row, std::int64_t bytes) {
  if (row < 0 || static_cast<std::uint32_t>(row) >= capacity_) return;
  StatusRow& r = rows_[row];
  add(r.bytes_in_flight, -bytes);
  add(r.bytes_done, static_cast<std::uint64_t>(bytes));
  add(r.requests_done, std::uint64_t{1});
}

void RailStatus::add_in_flight(int row, std::int64_t bytes) {
  if (row < 0 || static_cast<std::uint32_t>(row) >= capacity_) return;
  add(rows_[row].bytes_in_flight, bytes);
}

void RailStatus::on_event(int row, ProcessIndex peer, PathEvent event, PathReason reason, std::int64_t value,
                          Nanoseconds now) {
  if (header_ == nullptr && log_ == nullptr) return;
  EventRecord facts;
  facts.number = events_;
  facts.time = now;
  facts.value = value;
  facts.peer = peer;
  facts.row = row;
  facts.event = static_cast<std::uint8_t>(event);
  facts.reason = static_cast<std::uint8_t>(reason);
  if (header_ != nullptr) {
    header_->ring[events_ % recent_events].store(facts);
    header_->events.store(events_ + 1, std::memory_order_release);
  }
  ++events_;
  if (log_ == nullptr) return;
  log_->write_line(event_line(facts, rank_, row < 0 ? nullptr : &paths_[static_cast<std::size_t>(row)]));
}

std::optional<EventRecord> RailStatus::recent(std::uint64_t number) const {
  EventRecord facts;
  if (header_ == nullptr || !header_->ring[number % recent_events].load(facts)) return {};
  if (facts.number != number) return {};
  return facts;
}

void RailStatus::publish(const RailCounters& counters) {
  if (header_ == nullptr) return;
  const std::span<const CounterName> names = rail_counter_names();
  for (std::size_t i = 0; i < names.size(); ++i)
    header_->counters[i].store(names[i].value(counters), std::memory_order_relaxed);
}

}  // namespace hawser
