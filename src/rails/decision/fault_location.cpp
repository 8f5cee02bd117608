#include "rails/decision/fault_location.h"

#include <algorithm>

#include "base/assert.h"
#include "base/enum_names.h"

namespace hawser {
namespace {

bool bad(const Observation& observation) {
  return observation.says == Evidence::failed || observation.says == Evidence::silent;
}
bool good(const Observation& observation) { return observation.says == Evidence::well; }

bool same_ports(const Observation& a, const Observation& b) {
  return a.rail == b.rail && a.peer == b.peer && a.remote_rail == b.remote_rail;
}

template <class Which>
bool any(std::span<const Observation> observations, Which&& which) {
  return std::any_of(observations.begin(), observations.end(), which);
}

}  // namespace

static_assert(fault_locations == enumerators<FaultLocation>);
const char* fault_location_name(FaultLocation location) { return enum_name(location); }

FaultLocation judge(const Observation& f, std::span<const Observation> others) {
  // Both ports work: another route between them does.
  if (any(others, [&f](const Observation& w) { return same_ports(w, f) && w.path != f.path && good(w); })) {
    const auto same_way = [&f](const Observation& w) {
      return w.rail == f.rail && w.path == f.path && w.peer != f.peer;
    };
    const bool several = any(others, [&](const Observation& w) { return same_way(w) && bad(w); });
    const bool leads_on = any(others, [&](const Observation& w) { return same_way(w) && good(w); });
    return several && !leads_on ? FaultLocation::network : FaultLocation::path;
  }
  // The own port works: other peers are reached through it.
  const auto through_port = [&f](const Observation& w) { return w.rail == f.rail && w.peer != f.peer; };
  if (any(others, [&](const Observation& w) { return through_port(w) && good(w); })) {
    const auto sibling = [&f](const Observation& w) {
      return w.peer == f.peer && w.remote_adapter == f.remote_adapter && w.remote_rail != f.remote_rail;
    };
    const bool fails = any(others, [&](const Observation& w) { return sibling(w) && bad(w); });
    const bool works = any(others, [&](const Observation& w) { return sibling(w) && good(w); });
    return fails && !works ? FaultLocation::remote_adapter : FaultLocation::remote_port;
  }
  if (any(others, [&](const Observation& w) { return through_port(w) && bad(w); })) {
    const auto sibling = [&f](const Observation& w) { return w.adapter == f.adapter && w.rail != f.rail; };
    const bool fails = any(others, [&](const Observation& w) { return sibling(w) && bad(w); });
    const bool works = any(others, [&](const Observation& w) { return sibling(w) && good(w); });
    return fails && !works ? FaultLocation::local_adapter : FaultLocation::local_port;
  }
  return FaultLocation::undecided;
}

bool is_affected(FaultLocation location, const Observation& failed, const Observation& other) {
  switch (location) {
    case FaultLocation::undecided:
      return same_ports(failed, other);
    case FaultLocation::path:
      return same_ports(failed, other) && failed.path == other.path;
    case FaultLocation::network:
      return failed.rail == other.rail && failed.path == other.path;
    case FaultLocation::remote_port:
      return failed.peer == other.peer && failed.remote_rail == other.remote_rail;
    case FaultLocation::remote_adapter:
      return failed.peer == other.peer && failed.remote_adapter == other.remote_adapter;
    case FaultLocation::local_port:
      return failed.rail == other.rail;
    case FaultLocation::local_adapter:
      return failed.adapter == other.adapter;
  }
  HAWSER_UNREACHABLE();
}

}  // namespace hawser
