#include "rails/recovery/containment.h"

#include <algorithm>

namespace hawser {
namespace {

// Failures of one cause: adapters' retries end at most that far apart.
constexpr Nanoseconds at_about_the_same_time = 250 * millisecond;
constexpr Nanoseconds first_look = 200 * microsecond, longest_look = 50 * millisecond;

// Silence that is shorter says nothing.
constexpr Nanoseconds shortest_silence = 10 * millisecond;

// Whether the failure says something about others: not when only a queue pair is broken or a port is known to
// be down.
bool tells(PathReason reason) {
  return reason == PathReason::completion_error || reason == PathReason::watchdog ||
         reason == PathReason::migration_failed || reason == PathReason::peer_asked;
}

Nanoseconds silent_since(const Subchannel& subchannel) {
  const WorkEntry* const oldest = subchannel.in_flight.front();
  return std::max(subchannel.last_completion, oldest != nullptr ? oldest->posted : 0);
}

}  // namespace

Witness Containment::witness(const Subchannel& subchannel, Nanoseconds since) const {
  const std::vector<RailAddress>& remote = subchannel.peer.remote().rails;
  Witness witness;
  witness.rail = alternates_.rail_of(subchannel).number();
  witness.adapter = subchannel.rail.device_number();
  witness.peer = subchannel.peer.process();
  witness.remote_rail = subchannel.remote_rail;
  witness.remote_adapter = remote[subchannel.remote_rail].device;
  witness.path = subchannel.connected() ? subchannel.route.source_path_bits : subchannel.path;
  const Nanoseconds half = (context_.now - since) / 2;
  if (subchannel.state == SubchannelState::ready) {
    // The first quarter is no proof: acknowledgements were on their way.
    if (subchannel.last_completion > since + half / 2)
      witness.says = Testimony::well;
    else if (!subchannel.in_flight.empty() && context_.now - silent_since(subchannel) > half)
      witness.says = Testimony::silent;
  } else if (subchannel.failed_before && context_.now - subchannel.stopped < at_about_the_same_time) {
    witness.says = Testimony::failed;
  }
  return witness;
}

void Containment::on_failure(Subchannel& failed, PathReason reason) {
  if (!tells(reason)) return;
  const Nanoseconds since = std::min(silent_since(failed), context_.now - shortest_silence);
  Witness own = witness(failed, since);
  own.says = Testimony::failed;
  std::vector<Witness> others;
  std::vector<Subchannel*> who;
  for (VirtualChannel* peer : peers_.known())
    for (Subchannel& subchannel : peer->subchannels()) {
      if (&subchannel == &failed || peer->lost || subchannel.state == SubchannelState::closed) continue;
      others.push_back(witness(subchannel, since));
      who.push_back(&subchannel);
    }
  const Verdict verdict = judge(own, others);
  context_.status.on_event(failed.status_row, own.peer, PathEvent::blamed, reason,
                           static_cast<std::int64_t>(verdict), context_.now);
  for (std::size_t i = 0; i < others.size(); ++i)
    if (others[i].says != Testimony::well && who[i]->state == SubchannelState::ready &&
        implicated(verdict, own, others[i]))
      suspect(*who[i]);
}

void Containment::suspect(Subchannel& subchannel) {
  if (subchannel.suspected) return;
  subchannel.suspected = true;
  ++subchannel.peer.suspected;
  ++context_.counters.contained;
  subchannel.test.reset();
  subchannel.suspicion_look = first_look;
  report_.show(subchannel, PathReason::blamed);
  test(subchannel);
}

void Containment::test(Subchannel& subchannel) {
  if (!subchannel.test.has_value() && subchannel.peer.send_on(subchannel, PacketKind::credit, {})) {
    const WorkEntry* const last = subchannel.in_flight.back();
    if (last != nullptr && last->posted == context_.now) subchannel.test = last->work_id();
  }
  subchannel.suspicion_due = context_.now + subchannel.suspicion_look;
  subchannel.suspicion_look = std::min(2 * subchannel.suspicion_look, longest_look);
  watches_.watch(subchannel);
}

void Containment::on_due(Subchannel& subchannel) {
  if (!subchannel.suspected || context_.now < subchannel.suspicion_due) return;
  if (subchannel.test.has_value() && resources_.entries.find(*subchannel.test) == nullptr) {
    ++context_.counters.acquitted;
    forget(subchannel);
    report_.show(subchannel, PathReason::well_again);
    return;
  }
  test(subchannel);
}

void Containment::forget(Subchannel& subchannel) {
  if (!subchannel.suspected) return;
  subchannel.suspected = false;
  subchannel.suspicion_due = never;
  --subchannel.peer.suspected;
}

}  // namespace hawser
