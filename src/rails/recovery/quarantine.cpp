#include "rails/recovery/quarantine.h"

#include <algorithm>
#include <vector>

namespace hawser {
namespace {

// Failures of one cause: adapters' retries end at most that far apart.
constexpr Nanoseconds at_about_the_same_time = 250 * millisecond;

// Silence that is shorter says nothing.
constexpr Nanoseconds shortest_silence = 10 * millisecond;

// Whether the failure says something about others: not when only a queue pair is broken or a port is known to
// be down.
bool tells(PathReason reason) {
  return reason == PathReason::completion_error || reason == PathReason::watchdog ||
         reason == PathReason::migration_failed || reason == PathReason::peer_asked;
}

Nanoseconds silent_since(const Subchannel& subchannel) {
  const WorkEntry* const oldest = subchannel.traffic.in_flight.front();
  return std::max(subchannel.traffic.last_completion, oldest != nullptr ? oldest->posted : 0);
}

}  // namespace

Observation Quarantine::observation(const Subchannel& subchannel, bool connected, Nanoseconds since) const {
  const std::vector<RailAddress>& remote = subchannel.peer.remote().rails;
  const SubchannelMachine& machine = subchannel.machine();
  Observation observation;
  observation.rail = alternates_.rail_of(subchannel, connected).number();
  observation.adapter = subchannel.rail.device_number();
  observation.peer = subchannel.peer.process();
  observation.remote_rail = subchannel.remote_rail;
  observation.remote_adapter = remote[subchannel.remote_rail].device;
  observation.path = connected ? subchannel.route.source_path_bits : subchannel.place.path;
  const Nanoseconds half = (context_.now - since) / 2;
  const AlternatePath* const alternate = subchannel.alternate.get();
  if (alternate != nullptr && alternate->left_at >= 0 &&
      context_.now - alternate->left_at < at_about_the_same_time) {
    // It is well, but tells of the route that it left.
    observation.rail = alternate->left_rail;
    observation.path = alternate->left_path;
    observation.says = Evidence::failed;
  } else if (subchannel.in_service()) {
    // The first quarter is no proof: acknowledgements were on their way.
    if (subchannel.traffic.last_completion > since + half / 2)
      observation.says = Evidence::well;
    else if (!subchannel.traffic.in_flight.empty() && context_.now - silent_since(subchannel) > half)
      observation.says = Evidence::silent;
  } else if (machine.failed_before() && context_.now - machine.stopped() < at_about_the_same_time) {
    observation.says = Evidence::failed;
  }
  return observation;
}

void Quarantine::blame(Subchannel& failed, PathReason reason) {
  if (!tells(reason)) return;
  const Nanoseconds since = std::min(silent_since(failed), context_.now - shortest_silence);
  Observation own = observation(failed, true, since);
  own.says = Evidence::failed;
  std::vector<Observation> others;
  std::vector<Subchannel*> who;
  for (VirtualChannel* peer : peers_.known())
    for (Subchannel& subchannel : peer->subchannels()) {
      if (&subchannel == &failed || peer->lost() || subchannel.machine().state() == SubchannelState::closed)
        continue;
      others.push_back(observation(subchannel, subchannel.connected(), since));
      who.push_back(&subchannel);
    }
  const FaultLocation location = judge(own, others);
  context_.status.on_event(failed.status_row, own.peer, PathEvent::blamed, reason,
                           static_cast<std::int64_t>(location), context_.now);
  // Who has not seen the fault itself only suspects: else a port that others left for the fault of a third
  // one would be left by all that use it.
  const bool leaves = reason != PathReason::peer_asked;
  for (std::size_t i = 0; i < others.size(); ++i)
    if (others[i].says != Evidence::well && others[i].says != Evidence::failed && who[i]->in_service() &&
        is_affected(location, own, others[i]) && !(leaves && alternates_.leave(*who[i])))
      machines_.on(*who[i], {.kind = SubchannelEvent::Kind::suspect});
}

void Quarantine::avoid(Subchannel& subchannel) {
  subchannel.peer.paths().on_suspected();
  ++context_.counters.quarantined;
}

void Quarantine::use_again(Subchannel& subchannel) { subchannel.peer.paths().on_cleared(); }

std::optional<SubchannelEvent> Quarantine::test(Subchannel& subchannel) {
  const std::optional<std::uint64_t> under_way = subchannel.machine().test();
  if (under_way.has_value() && resources_.entries.find(*under_way) == nullptr) {
    ++context_.counters.cleared;
    return SubchannelEvent{.kind = SubchannelEvent::Kind::test_delivered};
  }
  SubchannelEvent pending{.kind = SubchannelEvent::Kind::test_pending};
  if (!under_way.has_value() && subchannel.peer.send_on(subchannel, PacketKind::credit, {})) {
    const WorkEntry* const last = subchannel.traffic.in_flight.back();
    if (last != nullptr && last->posted == context_.now) pending.test = last->work_id();
  }
  return pending;
}

}  // namespace hawser
