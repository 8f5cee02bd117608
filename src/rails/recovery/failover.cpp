#include "rails/recovery/failover.h"

#include <algorithm>

#include "base/failure.h"
#include "base/planted_bug.h"
#include "rails/recovery/alternate_paths.h"
#include "rails/recovery/quarantine.h"

namespace hawser {
namespace {

std::span<const std::byte> bytes_of(const FenceBody& body) { return std::as_bytes(std::span(&body, 1)); }

// PlantedBug::resend_without_fence and put_without_fence: a second copy of everything unknown, or of all
// puts, while the first may still arrive.
void resend_at_once(Subchannel& subchannel, RailContext& context, RailResources& resources,
                    StripeEngine& stripes, bool only_puts) {
  EntryList again;
  const std::int64_t queued = subchannel.traffic.bytes_queued;
  for (WorkEntry* entry = subchannel.traffic.in_flight.front(); entry != nullptr;) {
    WorkEntry* const next = subchannel.traffic.in_flight.next(entry);
    const bool put = entry->kind == WorkEntry::Kind::put || entry->kind == WorkEntry::Kind::confirmation;
    if (put || !only_puts) {
      subchannel.traffic.remove(*entry, subchannel.rail.traffic);
      again.push_back(entry);
    }
    entry = next;
  }
  stripes.take_back_puts(subchannel);
  while (WorkEntry* entry = again.pop_front()) {
    entry->generation = (entry->generation + 1) % EntryPool::generations;  // its completion still comes
    if (entry->transfer != nullptr)
      stripes.on_failed(*entry);
    else if (entry->sequenced)
      subchannel.peer.packets().wait_again(*entry);
    else
      resources.free_entry(entry);
  }
  context.status.withdrawn(subchannel.status_row, queued - subchannel.traffic.bytes_queued);
  subchannel.peer.mark_due();
}

}  // namespace

void Failover::note_resumption(std::int64_t bytes) {
  context_.counters.last_resumption = context_.now;
  context_.status.on_event(-1, -1, PathEvent::reissued, PathReason::none, bytes, context_.now);
}

// Stop.

void Failover::note_failure(Subchannel& subchannel, const SubchannelAction& failure) {
  RailCounters& counters = context_.counters;
  ++counters.failures;
  if (failure.recovered) ++counters.failed_again;
  if (found_late(subchannel, failure)) ++counters.late_failures;
  counters.last_failure = context_.now;
  resumed_ = false;
  if (failure.reason == PathReason::watchdog) ++counters.watchdog;
  if (failure.state == SubchannelState::probing) ++counters.probes_failed;
  subchannel.traffic.stripe_flow.on_failed();
  subchannel.traffic.packet_flow.on_failed();
  subchannel.peer.paths().weights().on_failed(subchannel.index);
}

Failover::Report Failover::stop(Subchannel& subchannel) {
  const SubchannelEvent posted{.kind = SubchannelEvent::Kind::marker_posted};
  const bool only_puts = planted(PlantedBug::put_without_fence) && subchannel.puts != nullptr;
  if (only_puts || planted(PlantedBug::resend_without_fence)) {
    resend_at_once(subchannel, context_, resources_, stripes_, only_puts);
    return posted;
  }
  if (!subchannel.queue_pair->make_error()) return {};
  WorkEntry& marker = *resources_.entries.take();
  marker.kind = WorkEntry::Kind::marker;
  marker.sequenced = false;
  rdma::SendRequest request;
  request.id = marker.work_id();
  if (subchannel.queue_pair->post_send({&request, 1}) != 1) {
    resources_.free_entry(&marker);
    return {};
  }
  resources_.entries.place(marker, WorkEntry::Place::in_flight);
  subchannel.add(marker);
  return posted;
}

// Drain.

// The marker does not come. Destroying has its effect, but takes what was not polled along: the completion
// queue must be empty then.
Failover::Report Failover::poll(Subchannel& subchannel) {
  completions_.poll_all(subchannel.rail);
  const SubchannelState state = subchannel.machine().state();
  if (state != SubchannelState::stopping && state != SubchannelState::answering) return {};
  ++context_.counters.drain_time_outs;
  return SubchannelEvent{.kind = SubchannelEvent::Kind::drained,
                         .received = subchannel.traffic.received,
                         .sent = subchannel.traffic.sent,
                         .timed_out = true};
}

// No request of it is under way any more, and its queue pair is gone.
void Failover::destroy(Subchannel& subchannel) {
  if (subchannel.queue_pair != nullptr) {
    subchannel.rail.queue_pairs.remove(subchannel.queue_pair->number());
    --resources_.queue_pairs;
    subchannel.queue_pair.reset();
  }
  subchannel.alternate.reset();
  context_.status.withdrawn(subchannel.status_row, subchannel.traffic.bytes_queued);
  subchannel.traffic.clear_counts(subchannel.rail.traffic);
}

void Failover::cut(Subchannel& subchannel, SubchannelState before) {
  const bool stopped = before == SubchannelState::stopping || before == SubchannelState::answering;
  if (subchannel.queue_pair != nullptr && !stopped)
    static_cast<void>(static_cast<bool>(subchannel.queue_pair->make_error()));
  destroy(subchannel);
}

void Failover::drop_unsequenced(Subchannel& subchannel) {
  subchannel.fenced_over = {};
  for (WorkEntry* entry = subchannel.traffic.in_flight.front(); entry != nullptr;) {
    WorkEntry* const next = subchannel.traffic.in_flight.next(entry);
    const bool packet = entry->kind == WorkEntry::Kind::packet;
    const bool aside = entry->kind == WorkEntry::Kind::marker || entry->kind == WorkEntry::Kind::confirmation;
    if (aside || (packet && !entry->sequenced)) {
      subchannel.traffic.in_flight.remove(entry);
      resources_.free_entry(entry);
    } else {
      resources_.entries.place(*entry, WorkEntry::Place::fenced);
    }
    entry = next;
  }
}

// Fence.

Failover::Report Failover::send_fence(Subchannel& subchannel, const SubchannelAction& fence) {
  ++context_.counters.fences_sent;
  // What was never connected may be the only way left; and the peer learns where its port is now.
  if (subchannel.peer.paths().ready() == 0) control_.want(subchannel.peer);
  send_message(subchannel, true, fence);
  return SubchannelEvent{.kind = SubchannelEvent::Kind::fence_sent};
}

void Failover::send_answer(Subchannel& subchannel, const SubchannelAction& answer) {
  ++context_.counters.fences_answered;
  send_message(subchannel, false, answer);
}

// Over a subchannel that works; every other time, and when there is none, by datagram, each time over another
// rail: one that looks well may be a black hole.
void Failover::send_message(Subchannel& subchannel, bool fence, const SubchannelAction& message) {
  VirtualChannel& peer = subchannel.peer;
  FenceBody body;
  body.subchannel = subchannel.index;
  body.connection_generation = message.connection_generation;
  body.received = message.received;
  body.acknowledged = peer.window().expected();
  body.rail = subchannel.rail.address();
  if (message.turn % 2 == 0 || planted(PlantedBug::fence_over_the_same)) {
    Subchannel* const way = peer.paths().choose(0, TrafficClass::blocking);
    // A peer that computes gets a fence when it looks; what waits there takes room for receives.
    const bool waits_there = fence && way != nullptr && subchannel.fenced_over == way->name() &&
                             !planted(PlantedBug::fence_over_the_same);
    if (way != nullptr && !waits_there &&
        peer.send_on(*way, fence ? PacketKind::fence : PacketKind::fence_answer, bytes_of(body))) {
      if (fence) subchannel.fenced_over = way->name();
      return;
    }
  }
  control_.send_control(subchannel, fence ? DatagramKind::fence : DatagramKind::fence_answer, bytes_of(body),
                        message.turn);
}

void Failover::on_message(VirtualChannel& peer, bool fence, std::span<const std::byte> bytes) {
  FenceBody body;
  if (!read_body(bytes, 0, body)) return context_.report_short(peer.process(), "a fence", bytes.size());
  if (body.subchannel >= max_stripes)
    return context_.report_malformed(
        peer.process(), fmt::format("a fence for path {}, of at most {}", body.subchannel, max_stripes));
  // A peer with other knobs may have more paths; and a datagram may be an old one, sent again by a stranger.
  Subchannel* const subchannel = peer.subchannel(body.subchannel);
  if (subchannel == nullptr || !peer.acknowledge(body.acknowledged)) {
    ++context_.counters.dropped_stale;
    return;
  }
  peer.remote().learn(subchannel->remote_rail, body.rail);
  machines_.on(*subchannel,
               {.kind = fence ? SubchannelEvent::Kind::fence : SubchannelEvent::Kind::fence_answer,
                .connection_generation = body.connection_generation,
                .received = body.received});
}

// Both ends are compared: what the peer does not have goes out again.

void Failover::reissue(Subchannel& subchannel, const SubchannelAction& compared) {
  VirtualChannel& peer = subchannel.peer;
  const std::uint32_t received = compared.received;
  // What its adapter acknowledged and its software never saw: damaged, or the adapter died with it.
  peer.packets().take_back(subchannel, received);
  stripes_.take_back(subchannel, received);
  while (WorkEntry* entry = subchannel.traffic.in_flight.pop_front()) {
    if (entry->kind == WorkEntry::Kind::put) {
      // Nobody at the peer counts puts. What arrived is written once more, and now nothing late can follow.
      stripes_.on_failed(*entry);
      continue;
    }
    if (entry->kind == WorkEntry::Kind::read && entry->packet_kind != PacketKind::read_finish) {
      // Nothing late could land here since the own end was drained; but only now does the peer's adapter not
      // look at the bytes any more, which the peer may give back as soon as they are read another way.
      stripes_.on_failed(*entry);
      continue;
    }
    const bool arrived =
        sequence_distance(entry->ordinal, received) < 0 ||
        (compared.state == SubchannelState::parked && planted(PlantedBug::send_while_closing));
    if (arrived) ++context_.counters.already_arrived;
    if (entry->kind == WorkEntry::Kind::write || entry->kind == WorkEntry::Kind::read) {
      // Bytes whose finish the peer has were read before it left, and may be in use there by now.
      if (arrived && !planted(PlantedBug::duplicate_finish))
        stripes_.on_done(*entry);
      else
        stripes_.on_failed(*entry);
    } else if (arrived) {
      resources_.free_entry(entry);
    } else {
      peer.packets().wait_again(*entry);
    }
  }
  // Closed on purpose, with everything at the peer: nothing was lost, nor was the last credit.
  if (compared.state == SubchannelState::parked && received == compared.sent) return;
  context_.status.on_event(subchannel.status_row, peer.process(), PathEvent::fence_answered, PathReason::none,
                           context_.now - subchannel.machine().stopped(), context_.now);
  peer.note_credit_due();  // one may have been lost with the subchannel
  rendezvous_.ask_for_ends(peer);
}

// Time.

PathActivity Failover::activity(const Subchannel& subchannel, Nanoseconds since) const {
  PathActivity activity;
  activity.now = context_.now;
  activity.since = since;
  activity.slowest = subchannel.traffic.slowest();
  activity.rate = std::max(subchannel.traffic.packet_flow.rate(), subchannel.traffic.stripe_flow.rate());
  activity.bytes = subchannel.traffic.packet_bytes + subchannel.traffic.bytes_queued;
  const PathWeights& weights = subchannel.peer.paths().weights();
  activity.expected = weights.expected(subchannel.index, subchannel.rail.traffic.bytes_queued);
  activity.predicted = weights.predicted(subchannel.index, subchannel.rail.traffic.bytes_queued);
  activity.false_alarms = subchannel.machine().false_alarms();
  activity.alone = subchannel.peer.paths().ready() == 1;
  return activity;
}

// What judging silence is there to prevent.
bool Failover::found_late(const Subchannel& subchannel, const SubchannelAction& failure) const {
  if (failure.reason != PathReason::completion_error && failure.reason != PathReason::watchdog) return false;
  const WorkEntry* const oldest = subchannel.traffic.in_flight.front();
  const bool used = failure.state == SubchannelState::ready || failure.state == SubchannelState::suspected;
  if (!used || oldest == nullptr || oldest->watched == 0) return false;
  const Nanoseconds since = std::max(subchannel.traffic.last_completion, oldest->watched);
  return subchannel.silence.found_late(context_.silence, activity(subchannel, since));
}

void Failover::watch(VirtualChannel& peer) {
  for (Subchannel& subchannel : peer.subchannels()) {
    WorkEntry* const oldest = subchannel.traffic.in_flight.front();
    const bool used = subchannel.in_service() || subchannel.machine().closing();
    if (!used || oldest == nullptr) continue;
    // A process that was away for long: what it waits for may have come, and not been polled yet.
    if (subchannel.rail.polling.may_have_backlog()) continue;
    // What a process posts when it comes back from computing bears the time of its last look before: count
    // from the first look that found it the oldest.
    if (oldest->watched == 0) oldest->watched = context_.now;
    const PathActivity now =
        activity(subchannel, std::max(subchannel.traffic.last_completion, oldest->watched));
    if (subchannel.silence.wants_packet(context_.silence, now) &&
        peer.send_on(subchannel, PacketKind::credit, {}))
      subchannel.silence.on_packet_sent(context_.now);
    if (PathSilence::timed_out(context_.silence, now) || silent(subchannel, now))
      machines_.on(subchannel, {.kind = SubchannelEvent::Kind::fail, .reason = PathReason::watchdog});
    if (peer.lost()) return;
  }
}

void Failover::on_migrated(Subchannel& subchannel) {
  WorkEntry* const oldest = subchannel.traffic.in_flight.front();
  if (oldest == nullptr) return;
  const PathActivity now = activity(subchannel, context_.now);
  oldest->watched = std::max(oldest->watched, PathSilence::since_after_leaving(context_.silence, now));
}

bool Failover::silent(Subchannel& subchannel, const PathActivity& activity) {
  if (!PathSilence::worth_comparing(context_.silence, activity)) return false;
  const bool through = others_get_through(subchannel, PathSilence::compare_since(context_.silence, activity));
  const PathSilence::Outcome outcome = subchannel.silence.decide(context_.silence, activity, through);
  if (outcome == PathSilence::Outcome::wait) return false;
  if (alternates_.leave(subchannel)) {
    subchannel.traffic.in_flight.front()->watched =
        PathSilence::since_after_leaving(context_.silence, activity);
    quarantine_.blame(subchannel, PathReason::watchdog);
    return false;
  }
  return outcome == PathSilence::Outcome::leave_or_fail;
}

// Whether something that was posted after `since` got through to the peer another way. A packet asks.
bool Failover::others_get_through(Subchannel& subchannel, Nanoseconds since) {
  bool through = false;
  for (Subchannel& other : subchannel.peer.subchannels()) {
    if (&other == &subchannel || !other.in_service()) continue;
    through |= other.traffic.last_proof >= since;
    const WorkEntry* const last = other.traffic.in_flight.back();
    const bool asked = other.traffic.last_proof >= since || (last != nullptr && last->posted >= since);
    if (!asked) subchannel.peer.send_on(other, PacketKind::credit, {});
  }
  return through;
}

void Failover::discard(Subchannel& subchannel) {
  while (WorkEntry* entry = subchannel.traffic.in_flight.pop_front()) {
    if (entry->transfer != nullptr)
      stripes_.on_failed(*entry);
    else
      resources_.free_entry(entry);
  }
  stripes_.take_back_puts(subchannel);
  timers_.remove(subchannel);
}

void Failover::lose_for(Subchannel& subchannel, PathReason reason) {
  lose(subchannel.peer,
       failure(ErrorKind::peer_lost, "process {} cannot be reached: {} on rail {}", subchannel.peer.process(),
               path_reason_name(reason), subchannel.rail.number()));
}

void Failover::lose(VirtualChannel& peer, const Error& error) {
  if (peer.lost()) return;
  ++context_.counters.peers_lost;
  context_.status.on_event(-1, peer.process(), PathEvent::peer_lost, PathReason::none, 0, context_.now);
  for (Subchannel& subchannel : peer.subchannels())
    machines_.on(subchannel, {.kind = SubchannelEvent::Kind::lost});
  peer.abandon();
  rendezvous_.abandon(peer, error);
  windows_.abandon(peer, error);
  context_.events->on_peer_lost(peer.process(), error);
}

}  // namespace hawser
