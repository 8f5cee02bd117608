#include "rails/status/process_status.h"

#include "os/line_file.h"

namespace hawser {
namespace {

// Of address space: pages exist when paths are written to them. A path is 128 bytes.
constexpr std::uint32_t rows = 65536;

void copy_text(std::span<char> into, std::string_view text) {
  text.copy(into.data(), into.size() - 1);  // the rest is zero
}

StatusIdentity identity_of(const JobPlace& place, Nanoseconds now) {
  StatusIdentity identity;
  identity.process_id = own_pid();
  identity.rank = place.rank;
  identity.size = place.size;
  identity.started = now;
  copy_text(identity.job, place.job_id);
  copy_text(identity.host, place.host);
  identity.node = status_node(place.node_of_rank, place.rank);
  return identity;
}

}  // namespace

void ProcessStatus::make_table(std::uint32_t rows) {
  auto file = make_memory_file(status_file_label);
  if (!file) return;
  file_ = std::move(file.value());
  const auto bytes = static_cast<std::int64_t>(RailStatus::table_bytes(rows));
  auto table = SharedMapping::map(file_.get(), bytes);
  if (!table) return;
  table_ = std::move(table.value());
  seal_size(file_.get());  // others read it
  memory_ = {table_.data(), static_cast<std::size_t>(bytes)};
}

Result<std::unique_ptr<ProcessStatus>> ProcessStatus::open(const JobPlace& place, const Knobs& knobs,
                                                           Nanoseconds now) {
  auto status = std::make_unique<ProcessStatus>();
  StatusIdentity identity = identity_of(place, now);
  copy_text(identity.policy, knobs.rail_policy);
  if (knobs.status) status->make_table(rows);
  if (!knobs.event_log.empty()) {
    auto log = open_line_sink(knobs.event_log, place.rank, place.job_id);
    if (!log) {
      Error error = log.take_error();
      error.text = "HAWSER_EVENT_LOG=" + knobs.event_log + ": " + error.text;
      return error;
    }
    status->log_ = std::move(log.value());
  }
  status->rails_ =
      std::make_unique<RailStatus>(status->memory_, status->log_.get(), identity, place.node_of_rank);
  return status;
}

Result<std::unique_ptr<ProcessStatus>> ProcessStatus::open_without_rails(const JobPlace& place,
                                                                         const Knobs& knobs,
                                                                         Nanoseconds now) {
  auto status = std::make_unique<ProcessStatus>();
  if (knobs.status) status->make_table(0);
  status->rails_ = std::make_unique<RailStatus>(status->memory_, nullptr, identity_of(place, now));
  return status;
}

}  // namespace hawser
