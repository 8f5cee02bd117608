#include "rails/recovery/connector.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "base/planted_bug.h"
#include "rails/recovery/address_book.h"
#include "rails/recovery/alternate_paths.h"
#include "rails/recovery/connection_cap.h"
#include "rails/recovery/failover.h"
#include "rails/recovery/path_lookup.h"
#include "rails/recovery/path_opener.h"

namespace hawser {
namespace {

// What a probe carries where the network may only have been crowded.
constexpr std::size_t crowded_probe_bytes = 1024;
// For a probe's filling.
std::size_t probe_room(const RailContext& context, const RailResources& resources) {
  return resources.packet_bytes() - sizeof(PacketHeader) - sizeof(ProbeBody) - context.trailer();
}

std::uint8_t outstanding_reads(const Subchannel& subchannel) {
  return static_cast<std::uint8_t>(
      std::clamp(subchannel.rail.device().attributes().outstanding_reads, 1, 16));
}

std::uint8_t smaller_mtu(std::uint8_t one, std::uint8_t other) {  // 0: unknown
  return one == 0 || other == 0 ? std::max(one, other) : std::min(one, other);
}

std::span<const std::byte> probe_bytes(const ProbeBody& body) { return std::as_bytes(std::span(&body, 1)); }

// Adapters deal queue pairs out to receive engines by their numbers. Whether another queue pair of the path
// would get the same one as this number does.
bool shares_engine(const Subchannel& subchannel, std::uint32_t number) {
  const SubchannelPlace& place = subchannel.place;
  const std::uint32_t engines = std::bit_ceil(place.engine + 1u);
  return std::ranges::any_of(subchannel.peer.subchannels(), [&](const Subchannel& s) {
    return s.place.pair == place.pair && s.place.path == place.path && s.place.engine < place.engine &&
           s.queue_pair != nullptr && s.queue_pair->number() % engines == number % engines;
  });
}

// What the network moves on a path is known from its other engines.
void begin_as_beside(Subchannel& subchannel) {
  const SubchannelPlace& place = subchannel.place;
  for (const Subchannel& other : subchannel.peer.subchannels())
    if (other.place.pair == place.pair && other.place.path == place.path &&
        other.place.engine < place.engine && other.connected())
      subchannel.traffic.stripe_flow.begin_as(other.traffic.stripe_flow);
}

// Makes others until one has an engine of its own; none is given back before, or its number would come again.
void take_another_engine(const Subchannel& subchannel, const rdma::QueuePairInitAttributes& shape,
                         std::unique_ptr<rdma::QueuePair>& queue_pair) {
  std::array<std::unique_ptr<rdma::QueuePair>, 3> others;
  for (auto& other : others) {
    if (!shares_engine(subchannel, queue_pair->number())) return;
    auto made = subchannel.rail.device().make_queue_pair(shape);
    if (!made) return;
    other = std::exchange(queue_pair, std::move(made).value());
  }
}

}  // namespace

Connector::Connector(RailContext& context, RailResources& resources, PeerTable& peers, TimerList& timers,
                     PathReport& report, PollSchedule& schedule, const Neighbours& neighbours)
    : context_(context),
      resources_(resources),
      peers_(peers),
      timers_(timers),
      report_(report),
      schedule_(schedule),
      failover_(neighbours.failover),
      alternates_(neighbours.alternates),
      addresses_(neighbours.addresses),
      paths_(neighbours.paths),
      cap_(neighbours.cap),
      closer_(neighbours.closer),
      packets_(neighbours.packets),
      opener_(neighbours.opener),
      machines_(neighbours.machines) {
  unsent_since_.fill(-1);
}

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

Subchannel* Connector::find(const SubchannelName& name) {
  VirtualChannel* const peer = peers_.find(name.peer);
  return peer == nullptr || peer->lost() ? nullptr : peer->subchannel(name.index);
}

// Up.

void Connector::want(VirtualChannel& peer) {
  const auto to_connect = [](const Subchannel& s) { return s.machine().rests() && !s.place.on_demand; };
  const bool any = std::ranges::any_of(peer.subchannels(), to_connect);
  // Who waits for room does not find out whether the peer can be reached; who gets no answer is let in.
  if (any && !cap_.admits(peer, ConnectionCap::Wanted::here)) return;
  peer.partition().note_wanted();
  if (!any) return;
  for (Subchannel& subchannel : peer.subchannels())
    if (to_connect(subchannel)) machines_.on(subchannel, {.kind = SubchannelEvent::Kind::want});
}

Connector::Report Connector::connect(Subchannel& subchannel) {
  subchannel.rail.look(context_.now);
  if (!subchannel.rail.up() || !make_queue_pair(subchannel))
    return SubchannelEvent{
        .kind = SubchannelEvent::Kind::connect_refused,
        .reason = subchannel.rail.up() ? PathReason::connect_failed : PathReason::port_down};
  return SubchannelEvent{
      .kind = SubchannelEvent::Kind::connect_begun,
      .connection_generation = manager_->next_generation(subchannel.peer.process(), subchannel.index)};
}

void Connector::request(Subchannel& subchannel) {
  const SubchannelName name{subchannel.peer.process(), subchannel.index, subchannel.connection_generation()};
  const rdma::PortAddress& to = subchannel.peer.remote().rails[subchannel.remote_rail].port;
  if (paths_settled(subchannel, to))
    manager_->request(name, subchannel.rail.number(), own_end(subchannel, to), context_.now);
  else
    requests_.push_back(name);
}

// Whether it is known what the connection, and the datagrams that make it, are to use.
bool Connector::paths_settled(Subchannel& subchannel, const rdma::PortAddress& to) {
  const unsigned bits = subchannel.place.path;
  const bool datagrams = paths_.find(subchannel.rail, to).has_value();
  return paths_.find(subchannel.rail, to, bits, bits).has_value() && datagrams;
}

void Connector::on_paths_settled() {
  std::vector<SubchannelName> requests;
  requests.swap(requests_);
  for (const SubchannelName& name : requests) {
    Subchannel* const subchannel = find(name);
    if (subchannel != nullptr && subchannel->machine().state() == SubchannelState::connecting &&
        subchannel->connection_generation() == name.connection_generation)
      request(*subchannel);
  }
  std::vector<Deferred> deferred;
  deferred.swap(deferred_);
  for (const Deferred& each : deferred) take(each.rail, each.bytes);
}

bool Connector::make_queue_pair(Subchannel& subchannel) {
  rdma::QueuePairInitAttributes shape;
  shape.completions = &subchannel.rail.completions();
  shape.receives = &subchannel.rail.receives();
  shape.port = subchannel.rail.port();
  shape.send_depth = static_cast<std::int32_t>(context_.knobs.rail_send_depth);
  shape.inline_bytes = resources_.inline_bytes;
  auto made = subchannel.rail.device().make_queue_pair(shape);
  if (made) take_another_engine(subchannel, shape, made.value());
  if (!made) {
    if (subchannel.rail.up()) cap_.on_none_left(subchannel, made.error());
    return false;
  }
  HAWSER_ASSERT(subchannel.queue_pair == nullptr);
  subchannel.queue_pair = std::move(made).value();
  ++resources_.queue_pairs;
  std::uint64_t& most = context_.counters.queue_pairs_most;
  most = std::max(most, static_cast<std::uint64_t>(resources_.queue_pairs));
  cap_.on_made(subchannel.peer);
  subchannel.ends.psn = static_cast<std::uint32_t>(context_.random.below(1u << 24));
  return true;
}

ConnectionEnd Connector::own_end(Subchannel& subchannel, const rdma::PortAddress& to) const {
  ConnectionEnd end;
  const unsigned bits = subchannel.place.path;
  const auto record = paths_.find(subchannel.rail, to, bits, bits);
  end.path_mtu = subchannel.ends.path_mtu = record.has_value() ? record->mtu : std::uint8_t{0};
  end.port = subchannel.rail.attributes().address;
  end.queue_pair = subchannel.queue_pair->number();
  end.datagram_queue_pair = subchannel.rail.datagrams().number();
  end.device_generation = subchannel.rail.address().device_generation;
  end.address_generation = subchannel.rail.address().address_generation;
  end.psn = subchannel.ends.psn;
  end.outstanding_reads = outstanding_reads(subchannel);
  return end;
}

void Connector::learn(Subchannel& subchannel, const ConnectionEnd& remote) {
  RailAddress address = subchannel.peer.remote().rails[subchannel.remote_rail];
  address.port = remote.port;
  address.datagram_queue_pair = remote.datagram_queue_pair;
  address.device_generation = remote.device_generation;
  address.address_generation = remote.address_generation;
  subchannel.peer.remote().learn(subchannel.remote_rail, address);
}

// An adapter's time-out can be set only here, on the way to ready-to-send: a connection that may have failed
// because the network was crowded comes back with a longer one.
Nanoseconds Connector::acknowledge_time(const Subchannel& subchannel) const {
  constexpr Nanoseconds longest = 2 * second;
  Nanoseconds usual = context_.knobs.rail_acknowledge_time;
  if (planted(PlantedBug::impatient_adapters)) usual /= 32;
  return std::max(usual, std::min(longest, usual << 2 * subchannel.machine().false_alarms()));
}

// What the path record says, and of the MTU also what the peer's says: both ends must use the same.
bool Connector::use_record(Subchannel& subchannel, const ConnectionEnd& remote, rdma::Route& route) {
  const auto record = paths_.find(subchannel.rail, route);
  if (!record.has_value()) return false;  // it was void in the meantime; there will be another attempt
  route.service_level = record->service_level;
  route.partition = record->partition;
  route.mtu = smaller_mtu(subchannel.ends.path_mtu, remote.path_mtu);
  if (record->partition == 0 || subchannel.rail.device().in_partition(route.port, record->partition))
    return true;
  context_.status.on_event(subchannel.status_row, subchannel.peer.process(), PathEvent::no_partition,
                           PathReason::none, record->partition, context_.now);
  return false;
}

// Makes the own queue pair ready against the other end.
bool Connector::join(Subchannel& subchannel, const ConnectionEnd& remote) {
  rdma::ConnectParameters parameters;
  parameters.route.destination = remote.port;
  parameters.route.port = subchannel.rail.port();
  parameters.route.source_path_bits = static_cast<std::uint8_t>(subchannel.place.path);
  parameters.route.destination_path_bits = static_cast<std::uint8_t>(subchannel.place.path);
  if (!use_record(subchannel, remote, parameters.route)) return false;
  // Both ends and all engines of a path take the same way through an Ethernet.
  parameters.route.flow_label = subchannel.place.path * 0x9E37u % 0xFFFFFu;
  parameters.remote_queue_pair = remote.queue_pair;
  parameters.send_psn = subchannel.ends.psn;
  parameters.receive_psn = remote.psn;
  parameters.outstanding_reads = std::min(outstanding_reads(subchannel), remote.outstanding_reads);
  parameters.secret = manager_->secret();
  parameters.retry_policy.acknowledge_time = acknowledge_time(subchannel);
  parameters.retry_policy.retries = static_cast<std::uint8_t>(context_.knobs.rail_retries);
  if (!subchannel.queue_pair->make_ready_to_receive(parameters) ||
      !subchannel.queue_pair->make_ready_to_send())
    return false;
  learn(subchannel, remote);
  subchannel.ends.remote_device_generation = remote.device_generation;
  subchannel.ends.outstanding_reads = parameters.outstanding_reads;
  subchannel.route = parameters.route;
  const rdma::PortAttributes& own = subchannel.rail.attributes();
  subchannel.ends.own = rdma::local_end(own, rdma::common_kind(own.address, remote.port));
  count_connected(subchannel);
  return true;
}

void Connector::count_connected(Subchannel& subchannel) {
  subchannel.rail.queue_pairs.add(subchannel.queue_pair->number(), subchannel);
  subchannel.traffic.sent = subchannel.traffic.received = 0;
  ++context_.counters.connections_made;
  context_.counters.connections_on_demand += subchannel.place.on_demand;
  if (subchannel.place.on_demand && subchannel.place.engine > 0) begin_as_beside(subchannel);
  // A window, and finishes on top, for every peer that may send here.
  if (subchannel.ends.receives_wanted == 0) {
    // The window is the peer's, however many there are on demand.
    subchannel.ends.receives_wanted = subchannel.place.on_demand
                                          ? receives_for_finishes
                                          : receives_wanted(subchannel.peer.paths().at_once());
    subchannel.rail.add_receives(subchannel.ends.receives_wanted);
  }
}

bool Connector::accept(const SubchannelName& name, const ConnectionEnd& remote, ConnectionEnd& own) {
  VirtualChannel* const peer = peers_.obtain(name.peer);
  Subchannel* const subchannel = peer == nullptr || peer->lost() ? nullptr : peer->obtain(name.index);
  if (subchannel == nullptr) return false;
  accepting_ = false;
  machines_.on(*subchannel, {.kind = SubchannelEvent::Kind::request,
                             .connection_generation = name.connection_generation,
                             .received = subchannel->traffic.received});
  if (!accepting_) return false;
  // What failed has a place already, though its queue pair is gone.
  if (subchannel->machine().rests() && !opener_.admits(*subchannel, name.connection_generation)) return false;
  to_wait_ = subchannel->machine().rests() && !cap_.admits(*peer, ConnectionCap::Wanted::there);
  if (to_wait_) return false;
  subchannel->rail.look(context_.now);
  if (!subchannel->rail.up() || subchannel->machine().health().held_down(context_.now) ||
      !make_queue_pair(*subchannel))
    return false;
  own = own_end(*subchannel, remote.port);
  const bool joined = join(*subchannel, remote);
  machines_.on(*subchannel,
               {.kind = joined ? SubchannelEvent::Kind::accepted : SubchannelEvent::Kind::accept_failed,
                .connection_generation = name.connection_generation});
  return joined;
}

void Connector::connected(const SubchannelName& name, const ConnectionEnd& remote) {
  Subchannel* const subchannel = find(name);
  if (subchannel == nullptr || subchannel->machine().state() != SubchannelState::connecting ||
      subchannel->connection_generation() != name.connection_generation)
    return;
  if (!join(*subchannel, remote))
    return machines_.on(*subchannel, {.kind = SubchannelEvent::Kind::join_failed});
  const auto packets = context_.knobs.rail_probe / static_cast<std::int64_t>(resources_.packet_bytes());
  auto probes = static_cast<std::uint32_t>(std::clamp<std::int64_t>(
      packets, context_.knobs.rail_probe > 0 ? 1 : 0, context_.knobs.rail_send_depth / 4));
  // Where the network may only have been crowded, probes must not crowd it more.
  if (subchannel->machine().false_alarms() > 0) probes = std::min(probes, 1u);
  machines_.on(*subchannel, {.kind = SubchannelEvent::Kind::joined, .probes = probes});
}

void Connector::abandon(const SubchannelName& name, bool gave_up) {
  if (Subchannel* const subchannel = find(name))
    machines_.on(*subchannel, {.kind = SubchannelEvent::Kind::abandoned,
                               .connection_generation = name.connection_generation,
                               .gave_up = gave_up});
}

void Connector::forget(const Subchannel& subchannel) {
  manager_->forget({subchannel.peer.process(), subchannel.index, subchannel.connection_generation()});
}

// Probing.

void Connector::on_packet(Subchannel& subchannel, PacketKind kind) {
  machines_.on(subchannel, {.kind = SubchannelEvent::Kind::first_packet,
                            .probe = kind == PacketKind::probe || kind == PacketKind::probe_answer});
}

Connector::Report Connector::send_probes(Subchannel& subchannel) {
  const SubchannelMachine& machine = subchannel.machine();
  const std::size_t room = probe_room(context_, resources_);
  const std::size_t filling = machine.false_alarms() > 0 ? std::min(room, crowded_probe_bytes) : room;
  std::uint32_t posted = 0;
  for (; posted < machine.probes_to_send(); ++posted) {
    const ProbeBody body{machine.probes_sent() + posted, machine.probes_wanted()};
    if (!subchannel.peer.send_on(subchannel, PacketKind::probe, probe_bytes(body), filling)) break;
  }
  if (posted == 0) return {};
  return SubchannelEvent{.kind = SubchannelEvent::Kind::probes_posted, .probes = posted};
}

void Connector::on_probe(Subchannel& subchannel, PacketKind kind, std::span<const std::byte> packet) {
  if (!read_body(packet, sizeof(PacketHeader), probe_))
    return context_.report_short(subchannel.peer.process(), "a probe", packet.size());
  probe_filling_ = packet.size() - sizeof(PacketHeader) - sizeof(probe_);
  machines_.on(subchannel, {.kind = kind == PacketKind::probe ? SubchannelEvent::Kind::probe
                                                              : SubchannelEvent::Kind::probe_answer});
}

void Connector::answer_probe(Subchannel& subchannel) {
  subchannel.peer.send_on(subchannel, PacketKind::probe_answer, probe_bytes(probe_),
                          std::min(probe_filling_, probe_room(context_, resources_)));
}

void Connector::enter_service(Subchannel& subchannel, const SubchannelAction& action) {
  subchannel.traffic.last_completion = context_.now;
  timers_.remove(subchannel);
  if (action.recovered) {
    ++context_.counters.recoveries;
    subchannel.peer.paths().weights().on_recovered(subchannel.index, context_.now);
  }
  report_.show(subchannel, action.state, action.reason);
  subchannel.peer.on_ready(subchannel);
  // The other end is ready when it hears from this one, and may have something to send though it computes.
  subchannel.peer.send_on(subchannel, PacketKind::ready, {});
  alternates_.on_ready(subchannel);
  // Connections that were closed together come back together, however one of them came back.
  const auto parked = [](const Subchannel& s) {
    return s.machine().state() == SubchannelState::parked && !s.place.on_demand;
  };
  if (std::ranges::any_of(subchannel.peer.subchannels(), parked)) want(subchannel.peer);
}

void Connector::progress() { manager_->progress(context_.now); }

// Again.

void Connector::reconnect_request(Subchannel& subchannel, std::uint32_t turn) {
  subchannel.rail.look(context_.now);
  if (!subchannel.rail.up()) return;
  ReconnectRequestBody body;
  body.subchannel = subchannel.index;
  body.connection_generation = subchannel.connection_generation();
  body.rail = subchannel.rail.address();
  send_control(subchannel, DatagramKind::reconnect_request, std::as_bytes(std::span(&body, 1)), turn);
}

void Connector::on_reconnect_request(VirtualChannel& peer, std::span<const std::byte> bytes) {
  ReconnectRequestBody body;
  if (!read_body(bytes, 0, body))
    return context_.report_short(peer.process(), "a reconnect request", bytes.size());
  Subchannel* const subchannel = peer.subchannel(body.subchannel);
  if (subchannel == nullptr) return;
  peer.remote().learn(subchannel->remote_rail, body.rail);
  if (subchannel->machine().rests() && !cap_.admits(peer, ConnectionCap::Wanted::here)) return;
  machines_.on(*subchannel, {.kind = SubchannelEvent::Kind::reconnect_request,
                             .connection_generation = body.connection_generation,
                             .received = subchannel->traffic.received});
}

void Connector::fail(Subchannel& subchannel, PathReason reason) {
  machines_.on(subchannel, {.kind = SubchannelEvent::Kind::fail, .reason = reason});
}

void Connector::on_moved(Rail& rail) {
  const rdma::PortAttributes& attributes = rail.attributes();
  for (std::size_t i = 0; i < peers_.known().size(); ++i)
    for (Subchannel& subchannel : peers_.known()[i]->subchannels())
      if (subchannel.uses(rail) && subchannel.connected() && attributes.active &&
          subchannel.ends.own != rdma::local_end(attributes, subchannel.ends.own.kind))
        fail(subchannel, PathReason::port_down);
}

// Of the subchannel's device.
void Connector::on_port_down(Subchannel& subchannel, const Rail& rail) {
  if (rail.dead) {
    if (subchannel.uses(rail)) fail(subchannel, PathReason::device_fatal);
  } else if (subchannel.machine().state() == SubchannelState::connecting) {
    if (&subchannel.rail == &rail) fail(subchannel, PathReason::port_down);
  } else if (subchannel.connected() && !alternates_.survives(subchannel, rail)) {
    fail(subchannel, PathReason::port_down);
  }
}

void Connector::on_port(Rail& rail, bool came_back) {
  context_.status.on_event(-1, -1, PathEvent::port_changed,
                           rail.dead ? PathReason::device_fatal : PathReason::none,
                           2 * rail.number() + came_back, context_.now);
  for (std::size_t i = 0; i < peers_.known().size(); ++i) {  // events may add some
    VirtualChannel* const peer = peers_.known()[i];
    for (Subchannel& subchannel : peer->subchannels()) {
      if (came_back) machines_.on(subchannel, {.kind = SubchannelEvent::Kind::port_returned});
      if (subchannel.rail.device_number() != rail.device_number() || peer->lost()) continue;
      if (!came_back) {
        on_port_down(subchannel, rail);
      } else {
        if (subchannel.in_service()) alternates_.on_port_back(subchannel, rail);
        if (&subchannel.rail == &rail)
          machines_.on(subchannel, {.kind = SubchannelEvent::Kind::path_returned});
      }
    }
  }
}

}  // namespace hawser
