#include "rails/recovery/connector.h"

#include <algorithm>
#include <cstring>

#include "rails/recovery/address_book.h"
#include "rails/recovery/alternate_paths.h"
#include "rails/recovery/failover.h"

namespace hawser {
namespace {

// For how long an accepted connection may be silent: who asked for it may compute. If it gave up, a newer
// request or a nudge says so.
constexpr Nanoseconds accepted_patience = 30 * second;
constexpr Nanoseconds probe_patience = 2 * second;
// What a probe carries where the network may only have been crowded.
constexpr std::size_t crowded_probe_bytes = 1024;
// A nudge that brought nothing by then is repeated after a back-off.
constexpr Nanoseconds nudge_time = 50 * millisecond;

// For a probe's filling.
std::size_t probe_room(const RailContext& context, const RailResources& resources) {
  return resources.packets.buffer_bytes() - sizeof(PacketHeader) - sizeof(ProbeBody) - context.trailer();
}

std::span<const std::byte> probe_bytes(const ProbeBody& body) { return std::as_bytes(std::span(&body, 1)); }

}  // namespace

Connector::Connector(RailContext& context, RailResources& resources, PeerTable& peers, WatchList& watches,
                     PathReport& report, const PollSchedule& schedule, const Neighbours& neighbours)
    : context_(context),
      resources_(resources),
      peers_(peers),
      watches_(watches),
      report_(report),
      schedule_(schedule),
      failover_(neighbours.failover),
      alternates_(neighbours.alternates),
      addresses_(neighbours.addresses) {}

Connector::~Connector() = default;

void Connector::start(const std::array<std::uint64_t, 2>& secret) {
  ConnectionSettings settings;
  settings.self = context_.settings.self;
  settings.processes = context_.settings.job_size;
  settings.rails = static_cast<std::uint16_t>(resources_.rails.size());
  settings.secret = secret;
  ConnectionHost& host = *this;
  manager_.emplace(settings, host, context_.random);
}

bool Connector::drives(const Subchannel& subchannel) const {
  return context_.settings.self < subchannel.peer.process();
}

Subchannel* Connector::find(const SubchannelName& name) {
  VirtualChannel* const peer = peers_.find(name.peer);
  return peer == nullptr || peer->lost ? nullptr : peer->subchannel(name.index);
}

// Up.

void Connector::want(VirtualChannel& peer) {
  // The last look may be long ago: time counts from the next one.
  if (peer.partitioned_since < 0) peer.partitioned_since = 0;
  for (Subchannel& subchannel : peer.subchannels())
    if (subchannel.state == SubchannelState::closed) start(subchannel);
}

void Connector::start(Subchannel& subchannel) {
  subchannel.rail.look(context_.now);
  if (subchannel.health.state() == PathState::failed) subchannel.health.on_attempt(context_.now);
  if (!subchannel.rail.up() || !make_queue_pair(subchannel)) {
    subchannel.state = SubchannelState::failed;
    subchannel.health.on_failure(context_.now);
    watches_.watch(subchannel);
    const PathReason reason = subchannel.rail.up() ? PathReason::connect_failed : PathReason::port_down;
    report_.show_vain_attempt(subchannel, reason);
    report_.show(subchannel, reason);
    return;
  }
  subchannel.incarnation = std::max(subchannel.incarnation + 1,
                                    manager_->next_incarnation(subchannel.peer.process(), subchannel.index));
  subchannel.state = SubchannelState::connecting;
  watches_.watch(subchannel);
  report_.show(subchannel, PathReason::none);
  manager_->request({subchannel.peer.process(), subchannel.index, subchannel.incarnation},
                    subchannel.rail.number(), own_end(subchannel), context_.now);
}

bool Connector::make_queue_pair(Subchannel& subchannel) {
  rdma::QueuePairShape shape;
  shape.completions = &subchannel.rail.completions();
  shape.receives = &subchannel.rail.receives();
  shape.port = subchannel.rail.port();
  shape.send_depth = static_cast<std::int32_t>(context_.knobs.rail_send_depth) + 1;
  shape.inline_bytes = resources_.inline_bytes;
  auto made = subchannel.rail.device().make_queue_pair(shape);
  if (!made) return false;
  subchannel.queue_pair = std::move(made).value();
  subchannel.packet_number = static_cast<std::uint32_t>(context_.random.below(1u << 24));
  return true;
}

ConnectionEnd Connector::own_end(const Subchannel& subchannel) const {
  ConnectionEnd end;
  end.port = subchannel.rail.facts().address;
  end.queue_pair = subchannel.queue_pair->number();
  end.datagram_queue_pair = subchannel.rail.datagrams().number();
  end.life = subchannel.rail.address().life;
  end.moves = subchannel.rail.address().moves;
  end.packet_number = subchannel.packet_number;
  end.outstanding_reads =
      static_cast<std::uint8_t>(std::clamp(subchannel.rail.device().facts().outstanding_reads, 1, 16));
  return end;
}

void Connector::learn(Subchannel& subchannel, const ConnectionEnd& remote) {
  RailAddress address = subchannel.peer.remote_rail(subchannel.remote_rail);
  address.port = remote.port;
  address.datagram_queue_pair = remote.datagram_queue_pair;
  address.life = remote.life;
  address.moves = remote.moves;
  subchannel.peer.learn(subchannel.remote_rail, address);
}

// An adapter's time-out can be set only here, on the way to ready-to-send: a connection that may have failed
// because the network was crowded comes back with a longer one.
Nanoseconds Connector::acknowledge_time(const Subchannel& subchannel) const {
  constexpr Nanoseconds longest = 2 * second;
  const Nanoseconds usual = context_.knobs.rail_acknowledge_time;
  return std::max(usual, std::min(longest, usual << 2 * subchannel.false_alarms));
}

// Makes the own queue pair ready against the other end.
bool Connector::join(Subchannel& subchannel, const ConnectionEnd& remote) {
  rdma::ConnectParameters parameters;
  parameters.route.destination = remote.port;
  parameters.route.port = subchannel.rail.port();
  parameters.route.source_path_bits = static_cast<std::uint8_t>(subchannel.path);
  parameters.route.destination_path_bits = static_cast<std::uint8_t>(subchannel.path);
  // Both ends and all engines of a path take the same way through an Ethernet.
  parameters.route.flow_label = subchannel.path * 0x9E37u % 0xFFFFFu;
  parameters.remote_queue_pair = remote.queue_pair;
  parameters.send_packet_number = subchannel.packet_number;
  parameters.receive_packet_number = remote.packet_number;
  parameters.outstanding_reads = std::min(own_end(subchannel).outstanding_reads, remote.outstanding_reads);
  parameters.secret = manager_->secret();
  parameters.persistence.acknowledge_time = acknowledge_time(subchannel);
  parameters.persistence.retries = static_cast<std::uint8_t>(context_.knobs.rail_retries);
  if (!subchannel.queue_pair->make_ready_to_receive(parameters) ||
      !subchannel.queue_pair->make_ready_to_send())
    return false;
  learn(subchannel, remote);
  subchannel.remote_life = remote.life;
  subchannel.route = parameters.route;
  const rdma::PortFacts& own = subchannel.rail.facts();
  subchannel.own_end = rdma::local_end(own, rdma::common_kind(own.address, remote.port));
  count_connected(subchannel);
  return true;
}

void Connector::count_connected(Subchannel& subchannel) {
  subchannel.rail.add(subchannel.queue_pair->number(), subchannel);
  subchannel.sent = subchannel.received = 0;
  subchannel.peer_received.reset();
  subchannel.answer_wanted = false;
  subchannel.broken = subchannel.poisoned = false;
  subchannel.probes_sent = subchannel.probes_received = subchannel.probes_wanted = 0;
  subchannel.due =
      context_.now + (subchannel.state == SubchannelState::connecting ? probe_patience : accepted_patience);
  if (subchannel.health.state() == PathState::failed) subchannel.health.on_connected(context_.now);
  watches_.watch(subchannel);
  // A window, and finishes on top, for every peer that may send here.
  if (!subchannel.receives_wanted) {
    subchannel.receives_wanted = true;
    subchannel.rail.add_receives(static_cast<std::int32_t>(subchannel.peer.subchannels().size()));
  }
}

bool Connector::accept(const SubchannelName& name, const ConnectionEnd& remote, ConnectionEnd& own) {
  VirtualChannel* const peer = peers_.obtain(name.peer);
  Subchannel* const subchannel = peer == nullptr || peer->lost ? nullptr : peer->subchannel(name.index);
  if (subchannel == nullptr) return false;
  const bool newer = psn_distance(name.incarnation, subchannel->incarnation) > 0;
  switch (subchannel->state) {
    case SubchannelState::closed:
    case SubchannelState::failed:
      break;
    case SubchannelState::accepted:
      // The peer gave that one up before it was connected: nothing came, and nothing was sent.
      if (!newer || subchannel->received != 0) return false;
      drop(*subchannel);
      break;
    case SubchannelState::connecting:
    case SubchannelState::probing:
    case SubchannelState::ready:
    case SubchannelState::stopping:
    case SubchannelState::fencing:
      return false;
  }
  if (!newer) return false;
  subchannel->rail.look(context_.now);
  if (!subchannel->rail.up() || subchannel->health.held_down(context_.now) || !make_queue_pair(*subchannel))
    return false;
  subchannel->incarnation = name.incarnation;
  own = own_end(*subchannel);
  if (!join(*subchannel, remote)) {
    drop(*subchannel);
    return false;
  }
  subchannel->state = SubchannelState::accepted;
  report_.show(*subchannel, PathReason::none);
  return true;
}

void Connector::connected(const SubchannelName& name, const ConnectionEnd& remote) {
  Subchannel* const subchannel = find(name);
  if (subchannel == nullptr || subchannel->state != SubchannelState::connecting ||
      subchannel->incarnation != name.incarnation)
    return;
  if (!join(*subchannel, remote)) {
    give_up(*subchannel);
    return;
  }
  const auto packets =
      context_.knobs.rail_probe / static_cast<std::int64_t>(resources_.packets.buffer_bytes());
  subchannel->probes_wanted = static_cast<std::uint32_t>(std::clamp<std::int64_t>(
      packets, context_.knobs.rail_probe > 0 ? 1 : 0, context_.knobs.rail_send_depth / 4));
  // Where the network may only have been crowded, probes must not crowd it more.
  if (subchannel->false_alarms > 0) subchannel->probes_wanted = std::min(subchannel->probes_wanted, 1u);
  const bool recovering = subchannel->failed_before;
  if (!recovering || subchannel->probes_wanted == 0 || context_.bug(PlantedBug::early_readmission)) {
    make_ready(*subchannel);
    return;
  }
  subchannel->state = SubchannelState::probing;
  report_.show(*subchannel, PathReason::none);
  send_probes(*subchannel);
}

void Connector::abandon(const SubchannelName& name, bool gave_up) {
  Subchannel* const subchannel = find(name);
  if (subchannel == nullptr || subchannel->state != SubchannelState::connecting ||
      subchannel->incarnation != name.incarnation)
    return;
  drop(*subchannel);
  if (gave_up) {
    subchannel->health.on_failure(context_.now);
    addresses_.ask(name.peer);
  } else
    --subchannel->incarnation;  // nobody used it: the peer's request, accepted next, may have the same
}

void Connector::give_up(Subchannel& subchannel) {
  forget(subchannel);
  drop(subchannel);
  subchannel.health.on_failure(context_.now);
}

// The peer knows of this incarnation, so the next attempt takes a later one.
void Connector::skip_to(Subchannel& subchannel, std::uint32_t incarnation) {
  subchannel.incarnation = incarnation;
  forget(subchannel);
}

// Back to failed, with nothing in flight.
void Connector::drop(Subchannel& subchannel) {
  HAWSER_ASSERT(subchannel.in_flight.empty());
  if (subchannel.queue_pair != nullptr) {
    subchannel.rail.remove(subchannel.queue_pair->number());
    subchannel.queue_pair.reset();
  }
  subchannel.alternate.reset();
  subchannel.state = SubchannelState::failed;
  subchannel.due = never;
  if (subchannel.health.state() != PathState::failed) subchannel.health.on_failure(context_.now);
  watches_.watch(subchannel);
  report_.show(subchannel, PathReason::connect_failed);
}

void Connector::forget(const Subchannel& subchannel) {
  manager_->forget({subchannel.peer.process(), subchannel.index, subchannel.incarnation});
}

// Probing.

void Connector::on_packet(Subchannel& subchannel, PacketKind kind) {
  const bool probe = kind == PacketKind::probe || kind == PacketKind::probe_answer;
  if (subchannel.state == SubchannelState::accepted && probe) {
    subchannel.state = SubchannelState::probing;
    subchannel.due = context_.now + probe_patience;
    report_.show(subchannel, PathReason::none);
  }
  if (!probe &&
      (subchannel.state == SubchannelState::accepted || subchannel.state == SubchannelState::probing))
    make_ready(subchannel);
}

void Connector::send_probes(Subchannel& subchannel) {
  while (subchannel.probes_sent < subchannel.probes_wanted) {
    const ProbeBody body{subchannel.probes_sent, subchannel.probes_wanted};
    const std::size_t room = probe_room(context_, resources_);
    const std::size_t filling = subchannel.false_alarms > 0 ? std::min(room, crowded_probe_bytes) : room;
    if (!subchannel.peer.send_on(subchannel, PacketKind::probe, probe_bytes(body), filling)) return;
    ++subchannel.probes_sent;
  }
}

void Connector::on_probe(Subchannel& subchannel, PacketKind kind, std::span<const std::byte> packet) {
  ProbeBody body;
  if (!read_body(packet, sizeof(PacketHeader), body))
    return context_.report_short(subchannel.peer.process(), "a probe", packet.size());
  if (subchannel.state != SubchannelState::probing) {
    ++context_.counters.dropped_stale;
    return;
  }
  ++subchannel.probes_received;
  if (kind == PacketKind::probe) {
    const std::size_t filling =
        std::min(packet.size() - sizeof(PacketHeader) - sizeof(body), probe_room(context_, resources_));
    subchannel.peer.send_on(subchannel, PacketKind::probe_answer, probe_bytes(body), filling);
    return;
  }
  send_probes(subchannel);
  if (subchannel.probes_received == subchannel.probes_wanted) make_ready(subchannel);
}

void Connector::make_ready(Subchannel& subchannel) {
  const bool recovered = subchannel.failed_before;
  // Who drives a recovery lets nothing on the path before data has passed.
  HAWSER_ASSERT(!recovered || !drives(subchannel) || subchannel.probes_received >= subchannel.probes_wanted);
  subchannel.state = SubchannelState::ready;
  subchannel.due = never;
  subchannel.last_completion = context_.now;
  watches_.remove(subchannel);
  if (subchannel.health.state() == PathState::probing) subchannel.health.on_probe_passed(context_.now);
  if (recovered) {
    ++context_.counters.recoveries;
    subchannel.peer.weights().on_recovered(subchannel.index, context_.now);
  }
  report_.show(subchannel, recovered ? PathReason::recovery : PathReason::first_connection);
  subchannel.peer.on_ready(subchannel);
  // The other end is ready when it hears from this one.
  subchannel.peer.send_on(subchannel, PacketKind::credit, {});
  alternates_.on_ready(subchannel);
}

void Connector::progress() { manager_->progress(context_.now); }

// Again.

void Connector::nudge(Subchannel& subchannel) {
  NudgeBody body;
  body.subchannel = subchannel.index;
  body.incarnation = subchannel.incarnation;
  body.rail = subchannel.rail.address();
  send_control(subchannel, DatagramKind::nudge, std::as_bytes(std::span(&body, 1)),
               subchannel.health.attempts_since_failure());
}

void Connector::on_nudge(VirtualChannel& peer, std::span<const std::byte> bytes) {
  NudgeBody body;
  if (!read_body(bytes, 0, body)) return context_.report_short(peer.process(), "a nudge", bytes.size());
  Subchannel* const subchannel = peer.subchannel(body.subchannel);
  if (subchannel == nullptr) return;
  peer.learn(subchannel->remote_rail, body.rail);
  const bool behind = psn_distance(body.incarnation, subchannel->incarnation) > 0;
  switch (subchannel->state) {
    case SubchannelState::connecting:
      if (!behind) return;
      give_up(*subchannel);
      skip_to(*subchannel, body.incarnation);
      subchannel->health.on_port_back(context_.now);
      return;
    case SubchannelState::closed:
      if (behind) skip_to(*subchannel, body.incarnation);
      start(*subchannel);
      return;
    case SubchannelState::failed:
      if (behind) skip_to(*subchannel, body.incarnation);
      subchannel->health.on_port_back(context_.now);
      watches_.watch(*subchannel);
      return;
    case SubchannelState::accepted:  // the peer had asked, and gave that up
      if (subchannel->received != 0 || psn_distance(body.incarnation, subchannel->incarnation) < 0) return;
      give_up_accepted(*subchannel);
      if (behind) skip_to(*subchannel, body.incarnation);
      subchannel->health.on_port_back(context_.now);
      return;
    case SubchannelState::probing:
    case SubchannelState::ready:
    case SubchannelState::stopping:
    case SubchannelState::fencing:
      return;
  }
}

void Connector::on_due(Subchannel& subchannel) {
  if (subchannel.state == SubchannelState::probing) send_probes(subchannel);
  if (subchannel.state != SubchannelState::failed) return;
  if (context_.now >= subchannel.due) {  // a nudge brought nothing
    subchannel.due = never;
    addresses_.ask(subchannel.peer.process());
    subchannel.health.on_failure(context_.now);
  }
  if (context_.now < subchannel.health.next_attempt()) return;
  if (drives(subchannel)) {
    start(subchannel);
    return;
  }
  subchannel.health.on_attempt(context_.now);
  subchannel.rail.look(context_.now);
  if (subchannel.rail.up()) nudge(subchannel);
  subchannel.due = context_.now + nudge_time;
}

void Connector::on_moved(Rail& rail) {
  const rdma::PortFacts& facts = rail.facts();
  for (std::size_t i = 0; i < peers_.known().size(); ++i)
    for (Subchannel& subchannel : peers_.known()[i]->subchannels())
      if (subchannel.uses(rail) && subchannel.connected() && facts.active &&
          subchannel.own_end != rdma::local_end(facts, subchannel.own_end.kind))
        failover_.fail(subchannel, PathReason::port_down);
}

// Of the subchannel's device.
void Connector::on_port_down(Subchannel& subchannel, const Rail& rail) {
  if (rail.dead) {
    if (subchannel.uses(rail)) failover_.fail(subchannel, PathReason::device_fatal);
  } else if (subchannel.state == SubchannelState::connecting) {
    if (&subchannel.rail == &rail) failover_.fail(subchannel, PathReason::port_down);
  } else if (subchannel.connected() && !alternates_.survives(subchannel, rail)) {
    failover_.fail(subchannel, PathReason::port_down);
  }
}

void Connector::on_port(Rail& rail, bool came_back) {
  context_.status.on_event(-1, -1, PathEvent::port_changed,
                           rail.dead ? PathReason::device_fatal : PathReason::none,
                           2 * rail.number() + came_back, context_.now);
  for (std::size_t i = 0; i < peers_.known().size(); ++i) {  // events may add some
    VirtualChannel* const peer = peers_.known()[i];
    for (Subchannel& subchannel : peer->subchannels()) {
      if (came_back) failover_.fence_again(subchannel);
      if (subchannel.rail.device_number() != rail.device_number() || peer->lost) continue;
      if (!came_back) {
        on_port_down(subchannel, rail);
      } else if (subchannel.state == SubchannelState::ready) {
        alternates_.on_port_back(subchannel);
      } else if (subchannel.state == SubchannelState::failed && &subchannel.rail == &rail) {
        subchannel.health.on_port_back(context_.now);
        watches_.watch(subchannel);
      }
    }
  }
}

}  // namespace hawser
