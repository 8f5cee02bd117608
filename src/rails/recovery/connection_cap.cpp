#include "rails/recovery/connection_cap.h"

#include <algorithm>
#include <utility>

#include "base/planted_bug.h"
#include "rails/recovery/closer.h"

namespace hawser {
namespace {

// A connection that was used a moment ago, or has just been made, is about to be used.
constexpr Nanoseconds least_rest = 50 * microsecond;
// A peer that was asked and did not answer, or refused, is not asked again before.
constexpr Nanoseconds answer_time = 5 * millisecond, pause_after_refusal = 500 * microsecond;
// How long a peer waits for room: while others are about to part, and when none is.
constexpr Nanoseconds longest_wait = 20 * millisecond, wait_for_nobody = 1 * millisecond;
// Between looks, while somebody waits or there are too many.
constexpr Nanoseconds first_look_pause = 100 * microsecond, longest_look_pause = 64 * millisecond;

std::int32_t queue_pairs_of(VirtualChannel& peer) {
  return static_cast<std::int32_t>(
      std::ranges::count_if(peer.subchannels(), [](const Subchannel& s) { return s.queue_pair != nullptr; }));
}

std::int32_t wanted_for(VirtualChannel& peer) { return static_cast<std::int32_t>(peer.subchannels().size()); }

}  // namespace

ConnectionCap::ConnectionCap(RailContext& context, const RailResources& resources, TimerList& timers,
                             const StripeEngine& stripes, const Neighbours& neighbours)
    : context_(context),
      resources_(resources),
      timers_(timers),
      stripes_(stripes),
      neighbours_(neighbours),
      most_(parse_connections(context.knobs.connections).value()),
      policy_(make_victim_policy(context.knobs.connection_victims)) {}

// Admission.

// A peer that needs more than there may be is connected with all the same, alone.
bool ConnectionCap::has_room_for(VirtualChannel& peer, std::int32_t taken) const {
  return taken == 0 || taken + wanted_for(peer) <= most_;
}

// Queue pairs that there are, and places that are kept.
std::int32_t ConnectionCap::taken() const {
  std::int32_t taken = resources_.queue_pairs;
  for (const Admitted& each : admitted_)
    taken += queue_pairs_of(*each.peer) == 0 ? wanted_for(*each.peer) : 0;
  return taken;
}

bool ConnectionCap::may_connect(VirtualChannel& peer) const {
  return queue_pairs_of(peer) > 0 ||
         std::ranges::find(admitted_, &peer, &Admitted::peer) != admitted_.end() ||
         (waiting_.empty() && has_room_for(peer, taken()));
}

bool ConnectionCap::wait(VirtualChannel& peer, Wanted wanted) {
  const auto known = std::ranges::find(waiting_, &peer, &Waiting::peer);
  if (known != waiting_.end()) {
    if (wanted == Wanted::here) known->wanted = wanted;
    return false;
  }
  waiting_.push_back({&peer, context_.now, wanted});
  look_soon();
  return false;
}

void ConnectionCap::look_soon() {
  pause_ = first_look_pause;
  due_ = context_.now;
  timers_.run_soon();
}

// Something changed for those that wait.
void ConnectionCap::look_now() {
  if (due_ == never) return;
  due_ = context_.now;
  timers_.run_soon();
}

void ConnectionCap::note_made(VirtualChannel& peer) {
  if (std::ranges::find(connected_, &peer) == connected_.end()) connected_.push_back(&peer);
  std::erase_if(admitted_, [&](const Admitted& each) { return each.peer == &peer; });
  // Recoveries do not ask for room.
  if (resources_.queue_pairs > most_ && due_ == never) look_soon();
}

// Those that wait for whom there is room now, or that have waited for long enough, in their order.
std::vector<ConnectionCap::Waiting> ConnectionCap::take_admissible() {
  const bool some_part = std::ranges::any_of(connected_, [](VirtualChannel* peer) {
    return std::ranges::any_of(peer->subchannels(),
                               [](const Subchannel& s) { return s.machine().closing(); });
  });
  const Nanoseconds patience = some_part ? longest_wait : wait_for_nobody;
  std::int32_t queue_pairs = taken();
  std::vector<Waiting> admissible;
  auto first = waiting_.begin();
  for (; first != waiting_.end(); ++first) {
    const bool room = has_room_for(*first->peer, queue_pairs);
    if (first->peer->lost() || queue_pairs_of(*first->peer) > 0) continue;  // nothing to wait for any more
    if (!room && context_.now - first->since < patience) break;
    if (!room) ++context_.counters.connections_beyond_cap;
    queue_pairs += wanted_for(*first->peer);
    admitted_.push_back({first->peer, context_.now + longest_wait});
    admissible.push_back(*first);
  }
  waiting_.erase(waiting_.begin(), first);
  return admissible;
}

bool ConnectionCap::progress() {
  if (context_.now < due_) return false;
  std::erase_if(connected_, [](VirtualChannel* peer) { return queue_pairs_of(*peer) == 0; });
  std::erase_if(admitted_,
                [&](const Admitted& each) { return context_.now >= each.until || each.peer->lost(); });
  const std::vector<Waiting> let_in = take_admissible();
  for (const Waiting& each : let_in)
    if (each.wanted == Wanted::here) neighbours_.control.want(*each.peer);
  ask_victims();
  if (waiting_.empty() && admitted_.empty() && resources_.queue_pairs <= most_) {
    due_ = never;
  } else {
    due_ = context_.now + pause_;
    pause_ = std::min(2 * pause_, waiting_.empty() ? longest_look_pause : millisecond);
  }
  return !let_in.empty();
}

// Victims.

// When something was sent or received last.
Nanoseconds ConnectionCap::used(VirtualChannel& peer) {
  Nanoseconds used = 0;
  for (const Subchannel& subchannel : peer.subchannels())
    used = std::max({used, subchannel.traffic.last_completion, subchannel.traffic.last_arrival});
  return used;
}

bool ConnectionCap::busy(VirtualChannel& peer) const {
  return !peer.flushed() || context_.now - used(peer) < least_rest || stripes_.waits_for(peer);
}

// Whether all its connections can be closed.
bool ConnectionCap::closable(VirtualChannel& peer) const {
  return !peer.lost() && peer.paths().ready() > 0 &&
         std::ranges::all_of(peer.subchannels(),
                             [](const Subchannel& s) { return s.in_service() || s.queue_pair == nullptr; });
}

// As many as are needed to get below the cap with those that wait.
void ConnectionCap::ask_victims() {
  std::int32_t excess = taken() - most_;
  for (const Waiting& each : waiting_) excess += wanted_for(*each.peer);
  excess = std::min(excess, resources_.queue_pairs);
  candidates_.clear();
  views_.clear();
  for (VirtualChannel* peer : connected_) {
    const Record& record = record_of(*peer);
    for (const Subchannel& s : peer->subchannels()) excess -= s.machine().closing();
    if (!closable(*peer)) continue;
    if (context_.now < record.ask_again) {
      if (!record.refused) excess -= queue_pairs_of(*peer);
      continue;
    }
    candidates_.push_back(peer);
    views_.push_back({used(*peer), record.tear_downs, busy(*peer)});
  }
  while (excess > 0) {
    const int chosen = policy_->choose(views_);
    if (chosen < 0) return;
    const auto place = static_cast<std::size_t>(chosen);
    VirtualChannel& victim = *candidates_[place];
    HAWSER_ASSERT(!views_[place].busy);
    excess -= queue_pairs_of(victim);
    record_of(victim).ask_again = context_.now + answer_time;
    record_of(victim).refused = false;
    ++context_.counters.closings_asked;
    const auto named = std::ranges::find_if(victim.subchannels(), &Subchannel::in_service);
    send(victim, {named->index, 0, named->connection_generation()}, false);
    candidates_.erase(candidates_.begin() + chosen);
    views_.erase(views_.begin() + chosen);
  }
}

void ConnectionCap::send(VirtualChannel& peer, const CloseRequestBody& body, bool refusal) {
  Subchannel& subchannel = *peer.subchannel(body.subchannel);
  neighbours_.control.send_control(subchannel,
                                   refusal ? DatagramKind::close_refused : DatagramKind::close_request,
                                   std::as_bytes(std::span(&body, 1)), turn_++ % 2);
}

void ConnectionCap::on_request(VirtualChannel& peer, std::span<const std::byte> bytes, bool refused) {
  CloseRequestBody body;
  if (!read_body(bytes, 0, body))
    return context_.report_short(peer.process(), "a request to part", bytes.size());
  Subchannel* const named = peer.subchannel(body.subchannel);
  if (named == nullptr || !named->in_service() ||
      named->connection_generation() != body.connection_generation) {
    ++context_.counters.dropped_stale;
    return;
  }
  if (refused) {
    record_of(peer).ask_again = context_.now + pause_after_refusal;
    record_of(peer).refused = true;
    ++context_.counters.closings_refused;
    return look_now();
  }
  const bool stays = busy(peer) && !planted(PlantedBug::send_while_closing);
  if (!closable(peer) || stays) return send(peer, body, true);
  ++context_.counters.closings_agreed;
  neighbours_.closer.close(peer);
}

void ConnectionCap::on_parked(VirtualChannel& peer) {
  Record& record = record_of(peer);
  record.ask_again = -1;
  if (queue_pairs_of(peer) == 0) ++record.tear_downs;
  look_now();
}

}  // namespace hawser
