#include "channel/rails/blame.h"

#include <algorithm>

#include "base/assert.h"

namespace hawser {
namespace {

// Enough to see that others get through; a bound on what a verdict costs.
constexpr std::size_t traffic_kept = 8;
constexpr std::size_t failures_kept = 64;

}  // namespace

const char* verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::undecided:
      return "undecided";
    case Verdict::path:
      return "path";
    case Verdict::remote_end:
      return "remote end";
    case Verdict::local_port:
      return "local port";
  }
  HAWSER_UNREACHABLE();
}

Blame::Blame(std::uint16_t rails, const BlameSettings& settings) : settings_(settings), ports_(rails) {
  for (Port& port : ports_) port.traffic.reserve(traffic_kept);
}

void Blame::on_failure(std::uint16_t rail, ProcessIndex peer, std::uint16_t path, Nanoseconds now) {
  std::deque<Event>& failures = ports_[rail].failures;
  while (!failures.empty() &&
         (failures.front().time < now - settings_.window || failures.size() >= failures_kept))
    failures.pop_front();
  failures.push_back({peer, path, now});
}

void Blame::on_port(std::uint16_t rail, bool active) { ports_[rail].active = active; }

void Blame::on_traffic(std::uint16_t rail, ProcessIndex peer, std::uint16_t path, Nanoseconds now) {
  Port& port = ports_[rail];
  for (Event& event : port.traffic) {
    if (event.peer != peer || event.path != path) continue;
    event.time = now;
    return;
  }
  if (port.traffic.size() < traffic_kept) {
    port.traffic.push_back({peer, path, now});
    return;
  }
  port.traffic[port.oldest] = {peer, path, now};
  port.oldest = (port.oldest + 1) % traffic_kept;
}

Verdict Blame::judge(std::uint16_t rail, ProcessIndex peer, std::uint16_t path, Nanoseconds now) const {
  const Port& port = ports_[rail];
  if (!port.active) return Verdict::local_port;
  const Event* own = nullptr;
  for (const Event& failure : port.failures)
    if (failure.peer == peer && failure.path == path) own = &failure;
  if (own == nullptr) return Verdict::undecided;

  // Who failed together with it, and since when.
  std::vector<ProcessIndex> failed;
  Nanoseconds since = own->time;
  for (const Event& failure : port.failures) {
    if (failure.time < own->time - settings_.window || failure.time > own->time + settings_.window) continue;
    since = std::min(since, failure.time);
    if (std::find(failed.begin(), failed.end(), failure.peer) == failed.end()) failed.push_back(failure.peer);
  }
  bool other_path = false;
  bool other_peer = false;
  for (const Event& event : port.traffic) {
    if (event.time <= since || event.time > now) continue;
    if (event.peer == peer) {
      other_path = other_path || event.path != path;
    } else if (std::find(failed.begin(), failed.end(), event.peer) == failed.end()) {
      other_peer = true;
    }
  }
  if (other_path) return Verdict::path;
  if (other_peer) return Verdict::remote_end;
  return failed.size() >= settings_.several ? Verdict::local_port : Verdict::undecided;
}

}  // namespace hawser
