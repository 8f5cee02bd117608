#include "rails/recovery/recovery.h"

#include <algorithm>

#include "base/failure.h"

namespace hawser {

Recovery::Recovery(const LowerFloors& lower, AddressExchange& exchange)
    : context_(lower.context),
      resources_(lower.resources),
      peers_(lower.peers),
      timers_(lower.timers),
      schedule_(lower.schedule),
      stripes_(lower.stripes),
      rendezvous_(lower.rendezvous),
      windows_(lower.windows),
      paths_(lower.context, lower.resources, lower.timers),
      multicast_(lower.context, lower.resources, lower.timers),
      alternates_(lower.context, lower.resources, lower.timers, lower.schedule, paths_),
      quarantine_(lower.context, lower.resources, lower.peers, alternates_, driver_),
      failover_(
          lower.context, lower.resources, lower.timers, lower.completions,
          {lower.stripes, lower.rendezvous, lower.windows, connector_, alternates_, quarantine_, driver_}),
      addresses_(lower.context, lower.resources, lower.peers, lower.timers, lower.upward, exchange, paths_,
                 connector_, driver_),
      adapters_(lower.context, lower.resources, lower.peers, lower.timers, lower.rendezvous, lower.windows,
                failover_, connector_),
      connector_(lower.context, lower.resources, lower.peers, lower.timers, lower.report, lower.schedule,
                 {failover_, alternates_, addresses_, paths_, cap_, closer_, packets_, opener_, driver_}),
      cap_(lower.context, lower.resources, lower.timers, lower.stripes, lower.peers, {connector_, closer_}),
      closer_(lower.context, cap_, connector_, driver_),
      packets_(lower.context, lower.resources, lower.timers, {connector_, paths_, cap_}),
      opener_(lower.context, lower.timers, {connector_, cap_, driver_}),
      driver_(lower.context, lower.timers, lower.report,
              {failover_, connector_, quarantine_, addresses_, closer_}) {
  lower.upward.subchannels = this;
  lower.upward.datagrams = &packets_;
  lower.upward.handle({PacketKind::fence, PacketKind::fence_answer, PacketKind::alternate, PacketKind::probe,
                       PacketKind::probe_answer, PacketKind::ready},
                      *this);
}

Result<> Recovery::start() {
  if (connector_.started() || resources_.rails.empty()) return {};
  auto secret = addresses_.job_secret();
  if (!secret) return secret.take_error();
  cap_.start();
  connector_.start(secret.value());
  multicast_.start(secret.value());
  return {};
}

void Recovery::on_wanted(VirtualChannel& peer) {
  if (start()) connector_.want(peer);
}

void Recovery::on_packet(const ReceivedPacket& packet) {
  switch (packet.kind) {
    case PacketKind::fence:
    case PacketKind::fence_answer:
      return failover_.on_message(packet.peer, packet.kind == PacketKind::fence,
                                  packet.bytes.subspan(sizeof(PacketHeader)));
    case PacketKind::alternate:
      return alternates_.on_message(*packet.subchannel, packet.bytes.subspan(sizeof(PacketHeader)));
    case PacketKind::probe:
    case PacketKind::probe_answer:
      return connector_.on_probe(*packet.subchannel, packet.kind, packet.bytes);
    case PacketKind::ready:
      return;  // it is by now
    default:
      HAWSER_UNREACHABLE();  // it registered for no other
  }
}

// Devices.

bool Recovery::look() {
  if (paths_.receive()) connector_.on_paths_settled();
  const bool any = connector_.receive();
  packets_.answer();
  if (!schedule_.looks_at_all()) return any;
  for (std::size_t d = 0; d < resources_.devices.size(); ++d)
    if (std::none_of(resources_.rails.begin(), resources_.rails.end(),
                     [&](const auto& rail) { return rail->device_number() == d && schedule_.skips(*rail); }))
      take_events(*resources_.devices[d], static_cast<std::uint16_t>(d));
  return any;
}

void Recovery::on_device_gone(std::uint16_t device) {
  const DeviceMask bit = DeviceMask{1} << device;
  if ((resources_.dead_devices & bit) != 0) return;
  resources_.dead_devices |= bit;
  for (const auto& rail : resources_.rails) {
    if (rail->device_number() != device || rail->dead) continue;
    rail->dead = true;
    paths_.on_device_gone(*rail);
    multicast_.on_device_gone(*rail);
    connector_.on_port(*rail, false);
  }
  adapters_.on_fatal(device);
}

void Recovery::take_events(rdma::Device& device, std::uint16_t device_number) {
  rdma::DeviceEvent event;
  while (device.next_event(event))
    for (const auto& rail : resources_.rails)
      if (rail->device_number() == device_number && !rail->dead) on_event(*rail, event);
}

void Recovery::on_event(Rail& rail, const rdma::DeviceEvent& event) {
  const bool port = event.port == rail.port();
  Subchannel* const subchannel = rail.queue_pairs.find(event.queue_pair);
  switch (event.kind) {
    case rdma::DeviceEvent::Kind::port_down:
    case rdma::DeviceEvent::Kind::port_active:
      if (!port) break;  // never the sibling's
      ++context_.counters.port_events;
      rail.query();
      paths_.forget(rail);
      multicast_.ask_anew(rail);
      timers_.run_soon();  // what changed while the port was down others are to be told now
      connector_.on_port(rail, event.kind == rdma::DeviceEvent::Kind::port_active);
      connector_.on_paths_settled();
      break;
    case rdma::DeviceEvent::Kind::address_changed:
      // A connection that still bears the old address is cut off, though nothing may tell the peer: its fence
      // brings the new one.
      if (!port) break;
      rail.query();
      paths_.forget(rail);
      multicast_.ask_anew(rail);
      timers_.run_soon();  // others are to be told
      connector_.on_moved(rail);
      connector_.on_paths_settled();
      break;
    case rdma::DeviceEvent::Kind::queue_pair_fatal:
      if (subchannel != nullptr) on_failed(*subchannel, PathReason::queue_pair_fatal);
      break;
    case rdma::DeviceEvent::Kind::device_fatal:
      on_device_gone(rail.device_number());
      break;
    case rdma::DeviceEvent::Kind::path_migration_failed:
      if (subchannel == nullptr) break;
      ++context_.counters.migrations_failed;
      on_failed(*subchannel, PathReason::migration_failed);
      break;
    case rdma::DeviceEvent::Kind::path_migrated:
      if (subchannel == nullptr) break;
      if (alternates_.on_migrated(*subchannel)) quarantine_.blame(*subchannel, PathReason::peer_asked);
      failover_.on_migrated(*subchannel);
      break;
    case rdma::DeviceEvent::Kind::last_receive_reached:
    case rdma::DeviceEvent::Kind::other:
      break;
  }
}

// Time.

namespace {

Nanoseconds due_of(const Subchannel& subchannel) {
  const Nanoseconds due = subchannel.machine().due();
  // AlternatePaths looks at those that are in service; the time of another one would be due for ever.
  const bool migrates = subchannel.alternate != nullptr && subchannel.in_service();
  return migrates ? std::min(due, subchannel.alternate->due()) : due;
}

}  // namespace

void Recovery::run_timers() {
  look_at_subchannels();
  if (paths_.progress()) connector_.on_paths_settled();
  connector_.progress();
  if (cap_.progress()) connector_.on_paths_settled();
  packets_.progress();
  multicast_.progress();
  opener_.progress();
  if (context_.now >= next_watch_) watch_peers();
  adapters_.progress();
  addresses_.progress();
  Nanoseconds next =
      std::min({paths_.deadline(), connector_.deadline(), cap_.deadline(), packets_.deadline(),
                opener_.deadline(), adapters_.deadline(), addresses_.deadline(), multicast_.deadline()});
  for (Subchannel* s = timers_.front(); s != nullptr; s = timers_.next(s)) next = std::min(next, due_of(*s));
  if (context_.knobs.rail_give_up > 0 && !timers_.empty()) next = std::min(next, next_watch_);
  timers_.set_next_run(next);
}

// Whoever is looked at may leave the list, and others may join it.
void Recovery::look_at_subchannels() {
  looked_at_.clear();
  for (Subchannel* s = timers_.front(); s != nullptr; s = timers_.next(s)) looked_at_.push_back(s);
  for (Subchannel* subchannel : looked_at_) {
    if (!subchannel->timer_link.linked()) continue;
    const SubchannelMachine& machine = subchannel->machine();
    const SubchannelEvent look{.kind = SubchannelEvent::Kind::look};
    const SubchannelState before = machine.state();
    driver_.on(*subchannel, look);
    // What has just failed may be tried again at once.
    if (machine.state() == SubchannelState::failed && before != SubchannelState::failed)
      driver_.on(*subchannel, look);
    if (!subchannel->timer_link.linked()) continue;
    alternates_.on_due(*subchannel);
    if (machine.quiescent() && due_of(*subchannel) == never && subchannel->timer_link.linked())
      timers_.remove(*subchannel);
  }
}

void Recovery::watch_peers() {
  next_watch_ = context_.now + watch_interval();
  const bool credits = context_.now >= next_credits_;
  if (credits)
    next_credits_ = context_.now + std::max<Nanoseconds>(context_.knobs.rail_watchdog / 4, millisecond);
  for (const auto& rail : resources_.rails) rail->fill();  // buffers may have been short
  if (context_.now >= next_rates_) judge_rates();
  for (std::size_t i = 0; i < peers_.known().size(); ++i) {
    VirtualChannel& each = *peers_.known()[i];
    if (each.lost()) continue;
    if (credits && each.window().owes_for_long()) each.note_credit_due();
    failover_.watch(each);
    each.partition().look(context_.now);
    const Nanoseconds since = each.partition().since(), patience = context_.knobs.rail_give_up;
    if (!each.lost() && patience > 0 && since >= 0 && context_.now - since >= patience)
      failover_.lose(
          each, failure(ErrorKind::peer_lost, "process {} cannot be reached on any path", each.process()));
  }
  retire_peers();
}

// Those that nobody has to do with any more. A few at a time, for there may be thousands.
void Recovery::retire_peers() {
  constexpr std::size_t at_once = 256;
  const std::vector<VirtualChannel*>& known = peers_.known();
  for (std::size_t looks = std::min(known.size(), at_once); looks > 0; --looks) {
    if (next_retired_ >= known.size()) next_retired_ = 0;
    VirtualChannel& peer = *known[next_retired_++];
    if (!peers_.rested(peer) || stripes_.waits_for(peer) || rendezvous_.concerns(peer) ||
        windows_.concerns(peer) || opener_.opens_for(peer))
      continue;
    cap_.forget(peer);
    packets_.forget(peer);
    peers_.retire(peer);
    --next_retired_;
  }
}

// Tells paths that are much slower than the others to the same process.
void Recovery::judge_rates() {
  next_rates_ = context_.now + 100 * millisecond;
  for (VirtualChannel* peer : peers_.known())
    for (Subchannel& subchannel : peer->subchannels()) {
      const bool slow = peer->paths().weights().degraded(subchannel.index);
      if (subchannel.in_service() && slow != (subchannel.machine().health().state() == PathState::suspect))
        driver_.on(subchannel, {.kind = SubchannelEvent::Kind::rate, .slow = slow});
    }
}

// Requests that hang are noticed at the first look after their time.
Nanoseconds Recovery::watch_interval() const {
  const Knobs& knobs = context_.knobs;
  const Nanoseconds shorter = knobs.rail_silence > 0
                                  ? std::min(knobs.rail_watchdog / 4, knobs.rail_silence / 8)
                                  : knobs.rail_watchdog / 4;
  return std::max<Nanoseconds>(shorter, millisecond);
}

Nanoseconds Recovery::next_run() const {
  const bool outstanding = std::any_of(resources_.rails.begin(), resources_.rails.end(),
                                       [](const auto& rail) { return rail->traffic.outstanding > 0; });
  return outstanding ? std::min(timers_.next_run(), next_watch_) : timers_.next_run();
}

}  // namespace hawser
