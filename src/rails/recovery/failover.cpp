#include "rails/recovery/failover.h"

#include <algorithm>

#include "base/failure.h"
#include "rails/recovery/address_book.h"
#include "rails/recovery/alternate_paths.h"
#include "rails/recovery/connector.h"
#include "rails/recovery/containment.h"

namespace hawser {
namespace {

constexpr Nanoseconds first_repeat = 2 * millisecond, longest_repeat = 100 * millisecond;
// Where all requests took less, the network was not crowded.
constexpr Nanoseconds quick_request = 20 * millisecond;

std::span<const std::byte> bytes_of(const FenceBody& body) { return std::as_bytes(std::span(&body, 1)); }

}  // namespace

void Failover::note_resumption(std::int64_t bytes) {
  context_.counters.last_resumption = context_.now;
  context_.status.on_event(-1, -1, PathEvent::reissued, PathReason::none, bytes, context_.now);
}

// Stop.

void Failover::fail(Subchannel& subchannel, PathReason reason) {
  switch (subchannel.state) {
    case SubchannelState::connecting:
      connector_.give_up(subchannel);
      return;
    case SubchannelState::closed:
    case SubchannelState::stopping:
    case SubchannelState::fencing:
    case SubchannelState::failed:
      return;
    case SubchannelState::accepted:
    case SubchannelState::probing:
    case SubchannelState::ready:
      break;
  }
  VirtualChannel& peer = subchannel.peer;
  if (!context_.knobs.rail_failover) {
    lose(peer, failure(ErrorKind::other, "process {} cannot be reached: {} on rail {}", peer.process(),
                       path_reason_name(reason), subchannel.rail.number()));
    return;
  }
  ++context_.counters.failures;
  if (subchannel.failed_before) ++context_.counters.failed_again;
  if (late(subchannel, reason)) ++context_.counters.late_failures;
  context_.counters.last_failure = context_.now;
  resumed_ = false;
  if (reason == PathReason::watchdog) ++context_.counters.watchdog;
  if (subchannel.state == SubchannelState::probing) ++context_.counters.probes_failed;
  const bool was_ready = subchannel.state == SubchannelState::ready;
  containment_.on_failure(subchannel, reason);
  subchannel.state = SubchannelState::stopping;
  subchannel.failed_before = true;
  subchannel.stopped = context_.now;
  count_false_alarm(subchannel, reason);
  subchannel.health.on_failure(context_.now);
  peer.weights().on_failed(subchannel.index);
  report_.show(subchannel, reason);
  if (was_ready) {
    containment_.forget(subchannel);
    peer.on_not_ready();
  }
  connector_.forget(subchannel);
  watches_.watch(subchannel);
  if (context_.bug(PlantedBug::resend_without_fence)) {
    resend_at_once(subchannel);
    return;
  }
  // Without a marker (the device is gone) there is nothing to wait for but a look at what is polled now.
  subchannel.due = context_.now;
  if (!subchannel.queue_pair->make_error()) return;
  WorkEntry& marker = *resources_.entries.take();
  marker.kind = WorkEntry::Kind::marker;
  marker.sequenced = false;
  rdma::SendRequest request;
  request.id = marker.work_id();
  if (subchannel.queue_pair->post_send({&request, 1}) != 1) {
    resources_.free_entry(&marker);
    return;
  }
  marker.place = WorkEntry::Place::in_flight;
  marker.subchannel = &subchannel;
  subchannel.in_flight.push_back(&marker);
  ++subchannel.outstanding;
  ++subchannel.rail.outstanding;
  subchannel.due = context_.now + context_.knobs.rail_drain_time;
}

// What silent() is there to prevent.
bool Failover::late(const Subchannel& subchannel, PathReason reason) const {
  if (reason != PathReason::completion_error && reason != PathReason::watchdog) return false;
  const WorkEntry* const oldest = subchannel.in_flight.front();
  if (subchannel.state != SubchannelState::ready || oldest == nullptr || oldest->watched == 0) return false;
  constexpr Nanoseconds wanted = 100 * millisecond;
  const Nanoseconds since = std::max(subchannel.last_completion, oldest->watched);
  if (context_.now - since <= wanted || subchannel.slowest() < 0 || subchannel.slowest() >= quick_request ||
      subchannel.peer.weights().expected(subchannel.index, subchannel.rail.bytes_queued) >= quick_request)
    return false;
  return silence_limit(subchannel) == context_.knobs.rail_silence && subchannel.others_through >= 0 &&
         context_.now - subchannel.others_through > wanted / 2;
}

// Was that a failure, or was the network only crowded? Where requests took a good part of an adapter's
// patience, or none was done, it may have been: the next connection gets more time. A path on which all went
// quickly failed for good.
void Failover::count_false_alarm(Subchannel& subchannel, PathReason reason) {
  const bool silent = reason == PathReason::completion_error || reason == PathReason::watchdog ||
                      reason == PathReason::peer_asked || reason == PathReason::probe_failed;
  const Nanoseconds slowest = subchannel.slowest();
  const bool quick = slowest >= 0 && slowest < std::min(context_.adapter_patience() / 4, quick_request);
  constexpr std::uint8_t most = 3;
  if (!silent || quick)
    subchannel.false_alarms = 0;
  else if (subchannel.false_alarms < most)
    ++subchannel.false_alarms;
  subchannel.stripe_flow.on_failed();
  subchannel.packet_flow.on_failed();
}

void Failover::fail_soon(Subchannel& subchannel) {
  subchannel.broken = true;
  watches_.watch(subchannel);
}

// PlantedBug::resend_without_fence: a second copy of everything unknown, while the first may still arrive.
void Failover::resend_at_once(Subchannel& subchannel) {
  subchannel.due = context_.now + context_.knobs.rail_drain_time;
  EntryList again;
  while (WorkEntry* entry = subchannel.in_flight.pop_front()) again.push_back(entry);
  while (WorkEntry* entry = again.pop_front()) {
    const bool write = entry->kind == WorkEntry::Kind::write;
    entry->generation = (entry->generation + 1) % EntryPool::generations;  // its completion still comes
    subchannel.rail.outstanding -= write ? 2 : 1;
    subchannel.outstanding -= write ? 2 : 1;
    if (entry->kind != WorkEntry::Kind::packet)
      rendezvous_.on_stripe_failed(*entry);
    else if (entry->sequenced)
      subchannel.peer.wait_again(*entry);
    else
      resources_.free_entry(entry);
  }
  subchannel.rail.bytes_queued -= subchannel.bytes_queued;
  context_.status.withdrawn(subchannel.status_row, subchannel.bytes_queued);
  subchannel.bytes_queued = subchannel.packet_bytes = 0;
}

// Drain.

void Failover::on_marker(Subchannel& subchannel) {
  if (subchannel.state == SubchannelState::stopping) drained(subchannel);
}

// No request of it is under way any more, and its queue pair is gone.
void Failover::take_off(Subchannel& subchannel) {
  if (subchannel.queue_pair != nullptr) {
    subchannel.rail.remove(subchannel.queue_pair->number());
    subchannel.queue_pair.reset();
  }
  subchannel.alternate.reset();
  subchannel.rail.outstanding -= subchannel.outstanding;
  subchannel.rail.bytes_queued -= subchannel.bytes_queued;
  context_.status.withdrawn(subchannel.status_row, subchannel.bytes_queued);
  subchannel.outstanding = 0;
  subchannel.bytes_queued = 0;
  subchannel.packet_bytes = 0;
  subchannel.broken = false;
}

void Failover::drained(Subchannel& subchannel) {
  HAWSER_ASSERT(subchannel.state == SubchannelState::stopping);
  take_off(subchannel);
  subchannel.state = SubchannelState::fencing;
  report_.show(subchannel, PathReason::none);
  subchannel.fenced_incarnation = subchannel.incarnation;
  subchannel.fenced_received = subchannel.received;
  watches_.watch(subchannel);
  for (WorkEntry* entry = subchannel.in_flight.front(); entry != nullptr;) {
    WorkEntry* const next = subchannel.in_flight.next(entry);
    const bool packet = entry->kind == WorkEntry::Kind::packet;
    if (entry->kind == WorkEntry::Kind::marker || (packet && !entry->sequenced)) {
      subchannel.in_flight.remove(entry);
      resources_.free_entry(entry);
    }
    entry = next;
  }
  if (subchannel.answer_wanted) answer(subchannel, subchannel.incarnation, subchannel.received);
  if (subchannel.peer_received.has_value()) {
    compare(subchannel, *subchannel.peer_received);
  } else {
    subchannel.repeats = 0;
    subchannel.fenced_over = {};
    send_fence(subchannel);
  }
}

// Fence.

void Failover::send_fence(Subchannel& subchannel) {
  FenceBody body;
  body.subchannel = subchannel.index;
  body.incarnation = subchannel.incarnation;
  body.received = subchannel.fenced_received;
  body.acknowledged = subchannel.peer.expected();
  body.rail = subchannel.rail.address();
  ++context_.counters.fences_sent;
  // What was never connected may be the only way left; and the peer learns where its port is now.
  if (subchannel.peer.ready() == 0) connector_.want(subchannel.peer);
  send_message(subchannel, true, body, subchannel.repeats);
  if (subchannel.repeats % 8 == 7) addresses_.ask(subchannel.peer.process());  // it may have moved, too
  const Nanoseconds wait =
      std::min(longest_repeat, first_repeat << std::min<std::uint32_t>(subchannel.repeats, 10));
  subchannel.due = context_.now + wait +
                   static_cast<Nanoseconds>(context_.random.below(static_cast<std::uint64_t>(wait / 4)));
  ++subchannel.repeats;
  watches_.watch(subchannel);
}

void Failover::fence_again(Subchannel& subchannel) {
  if (subchannel.state != SubchannelState::fencing) return;
  subchannel.repeats = 0;
  subchannel.due = context_.now;
  watches_.watch(subchannel);
}

void Failover::answer(Subchannel& subchannel, std::uint32_t incarnation, std::uint32_t received) {
  FenceBody body;
  body.subchannel = subchannel.index;
  body.incarnation = incarnation;
  body.received = received;
  body.acknowledged = subchannel.peer.expected();
  body.rail = subchannel.rail.address();
  subchannel.answer_wanted = false;
  ++context_.counters.fences_answered;
  send_message(subchannel, false, body, subchannel.answers++);
}

// Over a subchannel that works; every other time, and when there is none, by datagram, each time over another
// rail: one that looks well may be a black hole.
void Failover::send_message(Subchannel& subchannel, bool fence, const FenceBody& body, std::uint32_t turn) {
  VirtualChannel& peer = subchannel.peer;
  if (turn % 2 == 0) {
    Subchannel* const way = peer.choose(0, TrafficClass::blocking);
    // A peer that computes gets a fence when it looks; what waits there takes room for receives.
    const bool waits_there = fence && way != nullptr && subchannel.fenced_over == way->name();
    if (way != nullptr && !waits_there &&
        peer.send_on(*way, fence ? PacketKind::fence : PacketKind::fence_answer, bytes_of(body))) {
      if (fence) subchannel.fenced_over = way->name();
      return;
    }
  }
  connector_.send_control(subchannel, fence ? DatagramKind::fence : DatagramKind::fence_answer,
                          bytes_of(body), turn);
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
  peer.learn(subchannel->remote_rail, body.rail);
  if (fence) {
    on_fence(*subchannel, body);
  } else if (subchannel->state == SubchannelState::fencing && body.incarnation == subchannel->incarnation) {
    compare(*subchannel, body.received);
  } else if (subchannel->state != SubchannelState::stopping || body.incarnation != subchannel->incarnation) {
    ++context_.counters.dropped_stale;
  }
}

// The peer's end of this incarnation is stopped and drained.
void Failover::on_fence(Subchannel& subchannel, const FenceBody& body) {
  const bool present = body.incarnation == subchannel.incarnation;
  const bool up = subchannel.connected(), stopping = subchannel.state == SubchannelState::stopping;
  const bool fencing = subchannel.state == SubchannelState::fencing;
  if (present && (up || stopping)) {
    subchannel.peer_received = body.received;
    subchannel.answer_wanted = true;
    if (up) fail(subchannel, PathReason::peer_asked);
    return;
  }
  if (body.incarnation == subchannel.fenced_incarnation) {
    answer(subchannel, body.incarnation, subchannel.fenced_received);
    if (present && fencing) compare(subchannel, body.received);
    return;
  }
  if (psn_distance(body.incarnation, subchannel.fenced_incarnation) < 0 || up || stopping || fencing) {
    ++context_.counters.dropped_stale;
    return;
  }
  // One that this end never connected, or gave up: nothing of it arrived, and it shall never come to be.
  if (subchannel.state == SubchannelState::connecting &&
      psn_distance(body.incarnation, subchannel.incarnation) >= 0)
    connector_.give_up(subchannel);
  if (psn_distance(body.incarnation, subchannel.incarnation) > 0)
    connector_.skip_to(subchannel, body.incarnation);
  subchannel.fenced_incarnation = body.incarnation;
  subchannel.fenced_received = 0;
  answer(subchannel, body.incarnation, 0);
}

// Compare, and reissue what the peer does not have.

void Failover::compare(Subchannel& subchannel, std::uint32_t received) {
  VirtualChannel& peer = subchannel.peer;
  if (psn_distance(received, subchannel.sent) > 0)
    return context_.report_malformed(
        peer.process(),
        fmt::format("a fence claiming {} packets, but only {} were sent to it", received, subchannel.sent));
  // What its adapter acknowledged and its software never saw: damaged, or the adapter died with it.
  peer.take_back(subchannel, received);
  rendezvous_.take_back(subchannel, received);
  while (WorkEntry* entry = subchannel.in_flight.pop_front()) {
    if (entry->kind == WorkEntry::Kind::read) {
      // Nothing late could land here since the own end was drained; but only now does the peer's adapter not
      // look at the bytes any more, which the peer may give back as soon as they are read another way.
      rendezvous_.on_stripe_failed(*entry);
      continue;
    }
    const bool arrived = psn_distance(entry->ordinal, received) < 0;
    if (arrived) ++context_.counters.already_arrived;
    if (entry->kind == WorkEntry::Kind::write) {
      if (arrived && !context_.bug(PlantedBug::duplicate_finish))
        rendezvous_.on_stripe_done(*entry);
      else
        rendezvous_.on_stripe_failed(*entry);
    } else if (arrived) {
      if (context_.bug(PlantedBug::lose_credits)) ++peer.lost_credits;
      resources_.free_entry(entry);
    } else {
      peer.wait_again(*entry);
    }
  }
  subchannel.state = SubchannelState::failed;
  context_.status.on_event(subchannel.status_row, peer.process(), PathEvent::fence_answered, PathReason::none,
                           context_.now - subchannel.stopped, context_.now);
  report_.show(subchannel, PathReason::none);
  subchannel.peer_received.reset();
  subchannel.due = never;
  peer.note_credit_due();  // one may have been lost with the subchannel
  watches_.watch(subchannel);
}

// Time.

void Failover::on_due(Subchannel& subchannel) {
  if (subchannel.broken && subchannel.connected()) {
    fail(subchannel, PathReason::completion_error);
    return;
  }
  if (context_.now < subchannel.due) return;
  switch (subchannel.state) {
    case SubchannelState::stopping:
      // The marker does not come. Destroying has its effect, but takes what was not polled along: the
      // completion queue must be empty then.
      completions_.poll_all(subchannel.rail);
      if (subchannel.state != SubchannelState::stopping) return;
      ++context_.counters.drain_time_outs;
      drained(subchannel);
      return;
    case SubchannelState::fencing:
      send_fence(subchannel);
      return;
    case SubchannelState::accepted:
      connector_.give_up_accepted(subchannel);
      return;
    case SubchannelState::probing:
      fail(subchannel, PathReason::probe_failed);
      return;
    case SubchannelState::closed:
    case SubchannelState::connecting:
    case SubchannelState::ready:
    case SubchannelState::failed:
      return;
  }
}

void Failover::watch(VirtualChannel& peer) {
  for (Subchannel& subchannel : peer.subchannels()) {
    WorkEntry* const oldest = subchannel.in_flight.front();
    if (subchannel.state != SubchannelState::ready || oldest == nullptr) continue;
    // A process that was away for long: what it waits for may have come, and not been polled yet.
    if (subchannel.rail.may_have_backlog()) continue;
    // What a process posts when it comes back from computing bears the time of its last look before: count
    // from the first look that found it the oldest.
    if (oldest->watched == 0) oldest->watched = context_.now;
    const Nanoseconds since = std::max(subchannel.last_completion, oldest->watched);
    // An adapter that still tries may have an alternate route to take.
    const Nanoseconds allowed = std::max(
        {context_.knobs.rail_watchdog << 2 * subchannel.false_alarms, 2 * context_.adapter_patience(),
         peer.weights().predicted(subchannel.index, subchannel.rail.bytes_queued)});
    ask_again(subchannel, since);
    if (context_.now - since > allowed || silent(subchannel, since)) fail(subchannel, PathReason::watchdog);
    if (peer.lost) return;
  }
}

// A request that was lost, and nothing behind it: a packet behind it makes the peer's adapter ask for what is
// missing, long before the own one would send again (as TCP's tail loss probe, RFC 8985).
void Failover::ask_again(Subchannel& subchannel, Nanoseconds since) {
  const Nanoseconds slowest = subchannel.slowest(), patience = context_.knobs.rail_silence;
  if (patience == 0) return;
  const Nanoseconds first = slowest < 0 ? patience : std::max(patience / 4, 4 * slowest);
  const Nanoseconds wait = subchannel.asked_again <= since ? first : 2 * (subchannel.asked_again - since);
  if (context_.now - since < wait) return;
  if (subchannel.peer.send_on(subchannel, PacketKind::credit, {})) subchannel.asked_again = context_.now;
}

// The adapter is patient, so that a crowded network is not taken for a failed one. Software knows more: all
// went quickly here, then nothing any more, and another path to the same process gets through. Where there is
// no other path, there is nothing to hurry for, but for an adapter that has an alternate route.
bool Failover::silent(Subchannel& subchannel, Nanoseconds since) {
  const Nanoseconds limit = silence_limit(subchannel);
  const Nanoseconds slowest = subchannel.slowest(), age = context_.now - since;
  if (limit == 0 || age < limit / 2 || slowest < 0 || slowest >= context_.knobs.rail_silence / 3)
    return false;
  if (age < 2 * subchannel.peer.weights().expected(subchannel.index, subchannel.rail.bytes_queued))
    return false;
  const bool through = others_get_through(subchannel, since + limit / 2);
  const bool alone = subchannel.peer.ready() == 1;
  if (!through || subchannel.others_through < since) subchannel.others_through = through ? context_.now : -1;
  if (age < limit || (!through && !alone)) return false;
  if (alternates_.leave(subchannel)) {  // the other route gets a quarter of the time
    subchannel.in_flight.front()->watched = context_.now - limit * 3 / 4;
    return false;
  }
  return through;
}

// Others may send much to the same place all at once: 256 KiB may stand ahead. How long tiny packets took
// says nothing of that. 0: nothing can be said.
Nanoseconds Failover::silence_limit(const Subchannel& subchannel) const {
  constexpr float ahead = 256 * 1024;
  const float rate = std::max(subchannel.packet_flow.rate(), subchannel.stripe_flow.rate());
  if (rate == 0 && subchannel.packet_bytes + subchannel.bytes_queued >= 1024) return 0;
  const Nanoseconds queue = rate == 0 ? 0 : static_cast<Nanoseconds>(std::min(ahead / rate, 1e10f));
  return context_.knobs.rail_silence == 0 ? 0 : std::max(context_.knobs.rail_silence, queue);
}

// Whether something that was posted after `since` got through to the peer another way. A packet asks.
bool Failover::others_get_through(Subchannel& subchannel, Nanoseconds since) {
  bool through = false;
  for (Subchannel& other : subchannel.peer.subchannels()) {
    if (&other == &subchannel || other.state != SubchannelState::ready) continue;
    through |= other.last_proof >= since;
    const WorkEntry* const last = other.in_flight.back();
    const bool asked = other.last_proof >= since || (last != nullptr && last->posted >= since);
    if (!asked) subchannel.peer.send_on(other, PacketKind::credit, {});
  }
  return through;
}

void Failover::lose(VirtualChannel& peer, const Error& error) {
  if (peer.lost) return;
  ++context_.counters.peers_lost;
  context_.status.on_event(-1, peer.process(), PathEvent::peer_lost, PathReason::none, 0, context_.now);
  for (Subchannel& subchannel : peer.subchannels()) {
    connector_.forget(subchannel);
    if (subchannel.queue_pair != nullptr && subchannel.state != SubchannelState::stopping)
      static_cast<void>(static_cast<bool>(subchannel.queue_pair->make_error()));
    take_off(subchannel);
    const bool was_ready = subchannel.state == SubchannelState::ready;
    subchannel.state = SubchannelState::closed;
    report_.show(subchannel, PathReason::none);
    if (was_ready) {
      containment_.forget(subchannel);
      peer.on_not_ready();
    }
    while (WorkEntry* entry = subchannel.in_flight.pop_front()) {
      if (entry->kind == WorkEntry::Kind::write || entry->kind == WorkEntry::Kind::read)
        rendezvous_.on_stripe_failed(*entry);
      else
        resources_.free_entry(entry);
    }
    watches_.remove(subchannel);
  }
  peer.abandon();
  rendezvous_.abandon(peer, error);
  context_.events->on_peer_lost(peer.process(), error);
}

}  // namespace hawser
