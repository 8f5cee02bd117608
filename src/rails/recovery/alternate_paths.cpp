#include "rails/recovery/alternate_paths.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "rails/datapath/virtual_channel.h"
#include "rails/recovery/path_lookup.h"

namespace hawser {
namespace {

using Meaning = AlternateBody::Meaning;

constexpr Nanoseconds when_there_is_room = 1 * millisecond;
constexpr Nanoseconds when_it_is_known = 200 * microsecond;  // a path record

bool fits(std::uint8_t path_bits, const rdma::PortAddress& port) {
  return path_bits >> std::min<unsigned>(port.lmc, 7) == 0;
}

}  // namespace

AlternatePaths::AlternatePaths(RailContext& context, const RailResources& resources, TimerList& timers,
                               PollSchedule& schedule, PathLookup& paths)
    : context_(context), resources_(resources), timers_(timers), schedule_(schedule), paths_(paths) {
  // The channel checked the knob when it was opened.
  if (auto preference = parse_alternates(context.knobs.rail_migration))
    settings_.preference = preference.value();
  // A migration comes after all retries on the first route; both together have to stay below the time in
  // which software would have found another path.
  settings_.acknowledge_time = context.knobs.rail_acknowledge_time / 4;
}

bool AlternatePaths::possible(const Subchannel& subchannel) const {
  if (settings_.preference.kind == AlternatePreference::Kind::off) return false;
  const Rail& rail = subchannel.rail;
  const rdma::PortAddress& there = subchannel.peer.remote().rails[subchannel.remote_rail].port;
  if (!rail.device().attributes().path_migration || there.link_layer != rdma::LinkLayer::infiniband)
    return false;
  const Ports ports = ports_of(subchannel);
  return ports.local.size() > 1 || ports.remote.size() > 1 || rail.attributes().address.lmc > 0 ||
         there.lmc > 0;
}

AlternatePaths::Ports AlternatePaths::ports_of(const Subchannel& subchannel) const {
  Ports ports;
  for (const auto& rail : resources_.rails)
    if (rail->device_number() == subchannel.rail.device_number())
      ports.local.push_back({rail->port(), rail->up(), rail->attributes().address});
  const std::vector<RailAddress>& remote = subchannel.peer.remote().rails;
  // Whether they are active is not known here: the peer declines.
  for (const RailAddress& rail : remote)
    if (rail.device == remote[subchannel.remote_rail].device)
      ports.remote.push_back({rail.device_port, true, rail.port});
  return ports;
}

Rail* AlternatePaths::rail_at(const Subchannel& subchannel, std::uint8_t port) const {
  for (const auto& rail : resources_.rails)
    if (rail->device_number() == subchannel.rail.device_number() && rail->port() == port) return rail.get();
  return nullptr;
}

const Rail& AlternatePaths::rail_of(const Subchannel& subchannel, bool connected) const {
  const Rail* const rail = connected ? rail_at(subchannel, subchannel.route.port) : &subchannel.rail;
  return rail != nullptr ? *rail : subchannel.rail;
}

void AlternatePaths::on_ready(Subchannel& subchannel) {
  if (!possible(subchannel)) return;
  subchannel.alternate = std::make_unique<AlternatePath>(
      settings_, subchannel.route, context_.settings.self < subchannel.peer.process(), context_.random);
  subchannel.alternate->machine.request_load(context_.now);
  if (subchannel.alternate->due() != never) timers_.watch(subchannel);
}

// The deciding end.

// Unknown: its record is being asked for. Unfit: the MTU of the connection, which stays, is too large for it.
AlternatePaths::RecordUse AlternatePaths::use_record(const Subchannel& subchannel, rdma::Route& route) {
  const auto record = paths_.find(*rail_at(subchannel, route.port), route);
  if (!record.has_value()) return RecordUse::unknown;
  route.service_level = record->service_level;
  route.partition = record->partition;
  const std::uint8_t ports =
      std::min(subchannel.rail.attributes().address.mtu, subchannel.route.destination.mtu);
  const std::uint8_t used = route.mtu == 0 ? ports : std::min(route.mtu, ports);
  return record->mtu != 0 && record->mtu < used ? RecordUse::unfit : RecordUse::done;
}

void AlternatePaths::propose(Subchannel& subchannel) {
  AlternatePath& path = *subchannel.alternate;
  if (path.machine.phase() != MigrationPhase::offered) return path.proposed.reset();
  switch (use_record(subchannel, *path.proposed)) {
    case RecordUse::unknown:
      path.own_due = context_.now + when_it_is_known;
      return;
    case RecordUse::done:
      path.machine.complete_offer(*path.proposed);
      send_proposal(subchannel, *path.proposed);
      break;
    case RecordUse::unfit:
      path.machine.on_declined(context_.now);
      break;
  }
  path.proposed.reset();
}

void AlternatePaths::send_proposal(Subchannel& subchannel, const rdma::Route& route) {
  AlternateBody body;
  body.source_path_bits = route.source_path_bits;
  body.destination_path_bits = route.destination_path_bits;
  body.rail = rail_at(subchannel, route.port)->number();
  const std::vector<RailAddress>& remote = subchannel.peer.remote().rails;
  for (std::size_t i = 0; i < remote.size(); ++i)
    if (remote[i].device == remote[subchannel.remote_rail].device && remote[i].port == route.destination)
      body.remote_rail = static_cast<std::uint16_t>(i);
  body.number = ++subchannel.alternate->number;
  subchannel.alternate->message = body;
  send_message(subchannel);
}

void AlternatePaths::send_message(Subchannel& subchannel) {
  AlternatePath& path = *subchannel.alternate;
  if (!path.message.has_value()) return;
  if (subchannel.peer.send_on(subchannel, PacketKind::alternate, std::as_bytes(std::span(&*path.message, 1))))
    path.message.reset();
  else
    path.own_due = context_.now + when_there_is_room;
}

void AlternatePaths::on_due(Subchannel& subchannel) {
  if (subchannel.alternate == nullptr || !subchannel.in_service() ||
      context_.now < subchannel.alternate->due())
    return;
  AlternatePath& path = *subchannel.alternate;
  path.own_due = never;
  if (!send_notices(subchannel)) return;
  if (path.offer.has_value()) return answer_offer(subchannel);
  if (path.proposed.has_value()) return propose(subchannel);
  send_message(subchannel);
  const MigrationPhase before = path.machine.phase();
  const Ports ports = ports_of(subchannel);
  const auto route = path.machine.advance(*subchannel.queue_pair, ports.local, ports.remote, context_.now);
  if (route.has_value()) {
    path.proposed = route;
    propose(subchannel);
  }
  if (path.machine.phase() == MigrationPhase::armed && before != MigrationPhase::armed) {
    ++context_.counters.alternates_armed;
    context_.status.on_event(subchannel.status_row, subchannel.peer.process(), PathEvent::alternate_loaded,
                             PathReason::none, path.machine.alternate()->port, context_.now);
  }
}

void AlternatePaths::answer_offer(Subchannel& subchannel) {
  AlternatePath& path = *subchannel.alternate;
  const AlternateBody offer = *path.offer;
  auto route = route_of(subchannel, offer);
  const RecordUse use = route.has_value() ? use_record(subchannel, *route) : RecordUse::unfit;
  if (use == RecordUse::unknown) {
    path.own_due = context_.now + when_it_is_known;
    return;
  }
  path.offer.reset();
  const bool loaded = use == RecordUse::done && path.machine.load(*subchannel.queue_pair, *route);
  answer(subchannel, offer, loaded ? Meaning::agreed : Meaning::declined);
}

// Messages.

void AlternatePaths::on_message(Subchannel& subchannel, std::span<const std::byte> bytes) {
  AlternateBody body;
  const ProcessIndex process = subchannel.peer.process();
  if (!read_body(bytes, 0, body))
    return context_.report_short(process, "a path migration message", bytes.size());
  if (body.meaning < Meaning::offer || body.meaning > Meaning::port_back)
    return context_.report_malformed(process, fmt::format("a path migration message of unknown meaning {}",
                                                          static_cast<int>(body.meaning)));
  AlternatePath* const path = subchannel.alternate.get();
  if (body.meaning == Meaning::offer) {
    if (path == nullptr) {  // not wanted here, and the peer asks only as often as it must
      body.meaning = Meaning::declined;
      subchannel.peer.send_on(subchannel, PacketKind::alternate, std::as_bytes(std::span(&body, 1)));
      return;
    }
    path->offer = body;
    path->own_due = context_.now;
    schedule_.look_at_all();
    timers_.watch(subchannel);
    return;
  }
  const bool port_back = body.meaning == Meaning::port_back;
  if (path == nullptr || !path->machine.decides() || (!port_back && body.number != path->number) ||
      !subchannel.in_service()) {
    ++context_.counters.dropped_stale;
    return;
  }
  if (port_back) {
    path->machine.on_port_back(path->machine.original_route().port, context_.now);
  } else if (body.meaning == Meaning::agreed) {
    path->machine.on_agreed(*subchannel.queue_pair, context_.now);
    // The other adapter is armed by a packet that says that this one is not migrated.
    subchannel.peer.send_on(subchannel, PacketKind::credit, {});
  } else {
    path->machine.on_declined(context_.now);
  }
  timers_.watch(subchannel);
}

// The peer's route, seen from here. Nothing: it makes no sense, or the port is down.
std::optional<rdma::Route> AlternatePaths::route_of(const Subchannel& subchannel,
                                                    const AlternateBody& offer) const {
  const std::vector<RailAddress>& remote = subchannel.peer.remote().rails;
  if (offer.rail >= remote.size() || offer.remote_rail >= resources_.rails.size() ||
      remote[offer.rail].device != remote[subchannel.remote_rail].device)
    return std::nullopt;
  const Rail& rail = *resources_.rails[offer.remote_rail];
  if (rail.device_number() != subchannel.rail.device_number() || !rail.up() ||
      !fits(offer.destination_path_bits, rail.attributes().address) ||
      !fits(offer.source_path_bits, remote[offer.rail].port))
    return std::nullopt;
  rdma::Route route = subchannel.route;
  route.port = rail.port();
  route.destination = remote[offer.rail].port;
  route.source_path_bits = offer.destination_path_bits;
  route.destination_path_bits = offer.source_path_bits;
  return route;
}

void AlternatePaths::answer(Subchannel& subchannel, AlternateBody offer, Meaning meaning) {
  offer.meaning = meaning;
  subchannel.alternate->number = offer.number;
  subchannel.alternate->message = offer;
  send_message(subchannel);
}

// What adapters and ports do.

bool AlternatePaths::on_migrated(Subchannel& subchannel) {
  if (subchannel.alternate == nullptr || !subchannel.connected()) return false;
  AlternatePath& path = *subchannel.alternate;
  PathMigration& machine = path.machine;
  machine.on_migrated(context_.now);
  const bool failed = !std::exchange(path.asked, false) && machine.migrated_away();
  if (failed) note_left(subchannel);
  if (!machine.migrated_away()) path.left_at = -1;
  subchannel.route = machine.primary();
  ++context_.counters.migrations;
  if (Rail* const rail = rail_at(subchannel, subchannel.route.port)) {
    rail->query();
    const rdma::PortAttributes& own = rail->attributes();
    subchannel.ends.own = rdma::local_end(own, rdma::common_kind(own.address, subchannel.route.destination));
  }
  context_.status.on_event(subchannel.status_row, subchannel.peer.process(), PathEvent::migrated,
                           PathReason::none, subchannel.route.port, context_.now);
  timers_.watch(subchannel);
  return failed;
}

void AlternatePaths::note_left(Subchannel& subchannel) {
  subchannel.alternate->left_at = context_.now;
  subchannel.alternate->left_rail = rail_of(subchannel).number();
  subchannel.alternate->left_path = subchannel.route.source_path_bits;
}

bool AlternatePaths::survives(Subchannel& subchannel, const Rail& port) {
  if (subchannel.alternate == nullptr) return subchannel.route.port != port.port();
  PathMigration& machine = subchannel.alternate->machine;
  switch (machine.on_port_down(port.port())) {
    case PortDownAction::none:
      return true;
    case PortDownAction::unload:
      machine.unload(context_.now);
      if (!machine.decides() && subchannel.in_service())
        answer(subchannel, AlternateBody{{}, 0, 0, 0, 0, 0, subchannel.alternate->number}, Meaning::declined);
      timers_.watch(subchannel);
      return true;
    case PortDownAction::migrate: {
      const bool migrated =
          machine.migrate(*subchannel.queue_pair) || machine.just_migrated(*subchannel.queue_pair);
      // An adapter that only answers sends nothing by the new route, and what the peer asks goes on being
      // lost on the old one until its retries run out. Any packet makes the peer's adapter migrate, too.
      subchannel.alternate->tells_migration = subchannel.alternate->asked = migrated;
      if (migrated) send_notices(subchannel);
      return migrated;
    }
    case PortDownAction::fail:
      return false;
  }
  HAWSER_UNREACHABLE();
}

// False: there was no room for some, which go later.
bool AlternatePaths::send_notices(Subchannel& subchannel) {
  AlternatePath& path = *subchannel.alternate;
  const AlternateBody back{.meaning = Meaning::port_back};
  const bool sends = subchannel.in_service();
  path.tells_migration =
      path.tells_migration && sends && !subchannel.peer.send_on(subchannel, PacketKind::credit, {});
  path.tells_port_back =
      path.tells_port_back && sends &&
      !subchannel.peer.send_on(subchannel, PacketKind::alternate, std::as_bytes(std::span(&back, 1)));
  if (!path.tells_migration && !path.tells_port_back) return true;
  path.own_due = context_.now + when_there_is_room;
  timers_.watch(subchannel);
  return false;
}

// What is under way has as long as anything for an answer by the other route.
bool AlternatePaths::leave(Subchannel& subchannel) {
  if (subchannel.alternate == nullptr) return false;
  PathMigration& machine = subchannel.alternate->machine;
  if (!machine.migrate(*subchannel.queue_pair)) return machine.just_migrated(*subchannel.queue_pair);
  if (WorkEntry* const oldest = subchannel.traffic.in_flight.front()) {
    oldest->watched = context_.now;
    note_left(subchannel);
  }
  subchannel.alternate->tells_migration = subchannel.alternate->asked = true;
  send_notices(subchannel);
  return true;
}

void AlternatePaths::on_port_back(Subchannel& subchannel, const Rail& port) {
  if (subchannel.alternate == nullptr) return;
  AlternatePath& path = *subchannel.alternate;
  const PathMigration& machine = path.machine;
  path.machine.on_port_back(port.port(), context_.now);
  // The deciding end is not told of the ports here.
  const bool concerns = machine.migrated_away() ? port.port() == machine.original_route().port
                                                : machine.phase() == MigrationPhase::unloaded;
  path.tells_port_back = !machine.decides() && concerns;
  send_notices(subchannel);
  timers_.watch(subchannel);
}

}  // namespace hawser
