#include "rails/recovery/connection_cap.h"

#include <algorithm>
#include <utility>

#include "base/failure.h"
#include "base/planted_bug.h"
#include "rails/recovery/closer.h"

namespace hawser {
namespace {

// A connection that was used a moment ago, or has just been made, is about to be used.
constexpr Nanoseconds least_rest = 20 * microsecond;
// A peer that was asked and did not answer, or refused, is not asked again before.
constexpr Nanoseconds answer_time = 5 * millisecond, pause_after_refusal = 500 * microsecond;
// Between looks, while somebody waits or there are too many.
constexpr Nanoseconds first_look_pause = 100 * microsecond, longest_look_pause = 64 * millisecond;

std::int32_t queue_pairs_of(VirtualChannel& peer) {
  return static_cast<std::int32_t>(
      std::ranges::count_if(peer.subchannels(), [](const Subchannel& s) { return s.queue_pair != nullptr; }));
}

// Whether its connections are being closed.
bool leaves(VirtualChannel& peer) {
  return std::ranges::any_of(peer.subchannels(), [](const Subchannel& s) {
    return s.machine().closing() || s.machine().state() == SubchannelState::parting;
  });
}

// What the adapters have for each process of the host. An eighth is left to others.
std::int32_t fair_share(const RailContext& context, const RailResources& resources) {
  std::int64_t smallest = INT32_MAX;
  for (const auto& device : resources.devices)
    if (const std::int32_t all = device->attributes().queue_pairs; all > 0)
      smallest =
          std::min<std::int64_t>(smallest, all * std::int64_t{7} / 8 / context.settings.processes_here);
  const auto rails = static_cast<std::int64_t>(resources.rails.size());
  const auto devices = static_cast<std::int64_t>(resources.devices.size());
  // A datagram queue pair for each rail.
  const std::int64_t share = std::max<std::int64_t>(smallest * devices - rails, 1);
  return static_cast<std::int32_t>(std::min<std::int64_t>(share, INT32_MAX));
}

// `auto`: that, if it may not do for what is not made on demand; else no limit.
std::int32_t usual_cap(const RailContext& context, const RailResources& resources, std::int32_t share) {
  const Ways& ways = context.ways;
  const std::int64_t peers = context.settings.job_size - context.settings.processes_here;
  const auto rails = static_cast<std::int64_t>(resources.rails.size());
  const std::int64_t most =
      peers * rails * (ways.paths_on_demand ? 1 : ways.paths) * (ways.engines_on_demand ? 1 : ways.engines);
  return most <= share ? 0 : share;
}

std::int32_t wanted_for(VirtualChannel& peer) { return peer.paths().at_once(); }

}  // namespace

ConnectionCap::ConnectionCap(RailContext& context, const RailResources& resources, TimerList& timers,
                             const StripeEngine& stripes, PeerTable& peers, const Neighbours& neighbours)
    : context_(context),
      resources_(resources),
      timers_(timers),
      stripes_(stripes),
      peers_(peers),
      neighbours_(neighbours),
      fixed_(parse_connections(context.knobs.connections).value() > 0),
      most_(parse_connections(context.knobs.connections).value()),
      room_(context.settings.self, most_),
      policy_(make_victim_policy(context.knobs.connection_victims)) {}

void ConnectionCap::start() {
  most_on_demand_ = fair_share(context_, resources_);
  if (fixed_) return;
  most_ = usual_cap(context_, resources_, most_on_demand_);
  room_.set_most(most_);
}

// Admission.

bool ConnectionCap::may_connect(VirtualChannel& peer, Wanted wanted) {
  const ProcessIndex process = peer.process();
  if (queue_pairs_of(peer) > 0 || room_.begins(process)) return true;
  if (wanted == Wanted::there) {
    if (room_.has_room(process)) return true;
    room_.on_request(process, wanted_for(peer), context_.now);
  } else if (!room_.want(process, wanted_for(peer), context_.now)) {
    return false;  // it waits already
  }
  look_soon();
  return false;
}

void ConnectionCap::on_room(VirtualChannel& peer, DatagramKind kind) {
  const ProcessIndex process = peer.process();
  if (most_ == 0) {
    if (kind == DatagramKind::room_question) send_room(peer, DatagramKind::room_yes);
    return;
  }
  room_.set_queue_pairs(resources_.queue_pairs);
  if (kind != DatagramKind::room_question) peer.partition().end();  // it answers
  if (kind == DatagramKind::room_not_now) {
    room_.on_not_now(process, context_.now);
  } else if (leaves(peer)) {
    if (kind == DatagramKind::room_question) send_room(peer, DatagramKind::room_not_now);
    return;
  } else if (queue_pairs_of(peer) > 0) {  // it is being connected with
    if (kind == DatagramKind::room_question) send_room(peer, DatagramKind::room_yes);
    return;
  } else if (kind == DatagramKind::room_question) {
    room_.on_question(process, wanted_for(peer), context_.now);
  } else {
    room_.on_yes(process, wanted_for(peer), context_.now);
  }
  look_soon();
}

// Through another rail each time: the peer's end of one may have moved.
bool ConnectionCap::send_room(VirtualChannel& peer, DatagramKind kind) {
  ++turn_;
  for (std::size_t i = 0; i < resources_.rails.size(); ++i) {
    const auto rail = static_cast<std::uint16_t>((turn_ + i) % resources_.rails.size());
    if (!resources_.rails[rail]->up()) continue;
    if (neighbours_.control.send_control(peer.process(), rail, kind, {})) return true;
  }
  return false;
}

// What the agreement says. True if a request that waits can be answered now.
bool ConnectionCap::act() {
  bool admitted = false;
  actions_.clear();
  actions_.swap(room_.actions());
  for (const RoomAgreement::Action& action : actions_) {
    VirtualChannel* const peer = peers_.find(action.peer);
    if (peer == nullptr || peer->lost()) {
      room_.forget(action.peer);
      continue;
    }
    switch (action.kind) {
      case RoomAgreement::Action::Kind::ask:
        if (!send_room(*peer, DatagramKind::room_question)) room_.on_not_now(action.peer, context_.now);
        break;
      case RoomAgreement::Action::Kind::yes:
        send_room(*peer, DatagramKind::room_yes);
        break;
      case RoomAgreement::Action::Kind::not_now:
        send_room(*peer, DatagramKind::room_not_now);
        break;
      case RoomAgreement::Action::Kind::connect:
        neighbours_.control.want(*peer);
        break;
      case RoomAgreement::Action::Kind::admit:
        admitted = true;
        break;
    }
  }
  return admitted;
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
  room_.on_made(peer.process(), queue_pairs_of(peer));
  room_.set_queue_pairs(resources_.queue_pairs);
  // Recoveries do not ask for room.
  if (resources_.queue_pairs > most_ && due_ == never) look_soon();
}

// Others use the adapter, too. What there is now has to do from now on.
void ConnectionCap::on_none_left(const Subchannel& subchannel, const Error& why) {
  VirtualChannel& peer = subchannel.peer;
  // Tried again later; without any the peer cannot be reached, and both may wait for that.
  if (context_.events != nullptr && queue_pairs_of(peer) == 0 && queue_pairs_short_.lasts(context_.now))
    context_.events->on_notice(fmt::format(
        "cannot connect with process {} for want of a queue pair: {}. Raise the limits of memory and "
        "open files (ulimit -l, -n), or free queue pairs, or the job may wait for ever.",
        peer.process(), why.text));
  most_on_demand_ = std::min(most_on_demand_, resources_.queue_pairs);
  if (fixed_ || resources_.queue_pairs == 0 || subchannel.place.on_demand) return;
  most_ = most_ == 0 ? resources_.queue_pairs : std::min(most_, resources_.queue_pairs);
  room_.set_most(most_);
  connected_.clear();
  for (VirtualChannel* each : peers_.known())
    if (queue_pairs_of(*each) > 0) connected_.push_back(each);
  room_.set_queue_pairs(resources_.queue_pairs);
  if (queue_pairs_of(peer) > 0 || !room_.want(peer.process(), wanted_for(peer), context_.now)) return;
  look_soon();
}

bool ConnectionCap::progress() {
  if (context_.now < due_) return false;
  std::erase_if(connected_, [](VirtualChannel* peer) { return queue_pairs_of(*peer) == 0; });
  room_.set_queue_pairs(resources_.queue_pairs);
  room_.look(context_.now);
  context_.counters.connections_beyond_cap = room_.beyond();
  const bool admitted = act();
  ask_victims();
  if (room_.take_lapsed()) {
    due_ = context_.now + first_look_pause;  // whoever still wants to says so in that pass
  } else if (room_.idle() && resources_.queue_pairs <= most_ && leaving_ == 0) {
    due_ = never;
  } else {
    due_ = std::min({context_.now + pause_, room_.deadline(), rested_});
    pause_ = std::min(2 * pause_, room_.idle() ? longest_look_pause : millisecond);
  }
  return admitted;
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

// Whether all its connections can be closed. What tries to connect may never come about.
bool ConnectionCap::closable(VirtualChannel& peer) const {
  return !peer.lost() && peer.paths().ready() > 0 &&
         std::ranges::all_of(peer.subchannels(), [&](const Subchannel& s) {
           return s.in_service() || s.queue_pair == nullptr ||
                  s.machine().state() == SubchannelState::connecting || s.machine().forgotten(context_.now);
         });
}

// Whether all that there is of the peer is what it asked for, and did not use.
bool ConnectionCap::forgotten(VirtualChannel& peer) const {
  return std::ranges::all_of(peer.subchannels(), [&](const Subchannel& s) {
    return s.queue_pair == nullptr || s.machine().forgotten(context_.now);
  });
}

// As many as are needed to get below the cap with those that wait; and those that would have gone before.
void ConnectionCap::ask_victims() {
  std::int32_t excess = std::min(room_.excess(), resources_.queue_pairs);
  rested_ = never;
  if (excess <= 0 && leaving_ == 0) return;
  leaving_ = 0;
  candidates_.clear();
  views_.clear();
  for (VirtualChannel* peer : connected_) {
    Record& record = record_of(*peer);
    for (const Subchannel& s : peer->subchannels()) excess -= s.machine().closing();
    if (!closable(*peer)) {
      record.leaves = false;
      if (forgotten(*peer)) neighbours_.closer.close(*peer);
      continue;
    }
    const VictimView view{used(*peer), record.tear_downs, busy(*peer)};
    const Nanoseconds rested = view.used + least_rest;
    if (rested > context_.now) rested_ = std::min(rested_, rested);
    if (record.leaves && !view.busy) {
      excess -= queue_pairs_of(*peer);
      ask_to_part(*peer);
      continue;
    }
    leaving_ += record.leaves;
    if (context_.now < record.ask_again) {
      if (!record.refused) excess -= queue_pairs_of(*peer);
      continue;
    }
    candidates_.push_back(peer);
    views_.push_back(view);
  }
  while (excess > 0) {
    const int chosen = policy_->choose(views_);
    if (chosen < 0) return;
    const auto place = static_cast<std::size_t>(chosen);
    VirtualChannel& victim = *candidates_[place];
    HAWSER_ASSERT(!views_[place].busy);
    excess -= queue_pairs_of(victim);
    ask_to_part(victim);
    candidates_.erase(candidates_.begin() + chosen);
    views_.erase(views_.begin() + chosen);
  }
}

void ConnectionCap::ask_to_part(VirtualChannel& victim) {
  Record& record = record_of(victim);
  record.ask_again = context_.now + answer_time;
  record.refused = record.leaves = false;
  ++context_.counters.closings_asked;
  const auto named = std::ranges::find_if(victim.subchannels(), &Subchannel::in_service);
  send(victim, {named->index, 0, named->connection_generation()}, false);
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
  if (!closable(peer) || stays) {
    record_of(peer).leaves = true;
    ++leaving_;
    look_soon();
    return send(peer, body, true);
  }
  ++context_.counters.closings_agreed;
  neighbours_.closer.close(peer);
}

void ConnectionCap::on_parked(VirtualChannel& peer) {
  Record& record = record_of(peer);
  record.ask_again = -1;
  record.leaves = false;
  if (queue_pairs_of(peer) == 0) {
    ++record.tear_downs;
    room_.on_parted(peer.process());
  }
  look_now();
}

}  // namespace hawser
