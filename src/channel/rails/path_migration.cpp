#include "channel/rails/path_migration.h"

#include <algorithm>
#include <charconv>

#include "base/assert.h"
#include "base/failure.h"

namespace hawser {
namespace {

using rdma::Route;

bool same(const Route& a, const Route& b) {
  return a.port == b.port && a.destination == b.destination && a.source_path_bits == b.source_path_bits &&
         a.destination_path_bits == b.destination_path_bits;
}

const DevicePort* find_port(std::span<const DevicePort> ports, std::uint8_t number) {
  for (const DevicePort& port : ports)
    if (port.number == number) return &port;
  return nullptr;
}

// The number of the remote port that a route leads to, by its address; 0: unknown.
std::uint8_t remote_port_of(const Route& route, std::span<const DevicePort> remote) {
  for (const DevicePort& port : remote)
    if (port.address == route.destination) return port.number;
  return 0;
}

std::uint8_t path_count(const rdma::PortAddress& address) {
  return static_cast<std::uint8_t>(1u << std::min<unsigned>(address.lmc, 7));
}

// From `local` to `remote`; path bits as far as each end has them.
Route route_between(const Route& like, const DevicePort& local, const DevicePort& remote,
                    unsigned path_bits) {
  Route route = like;
  route.port = local.number;
  route.destination = remote.address;
  route.source_path_bits = static_cast<std::uint8_t>(path_bits % path_count(local.address));
  route.destination_path_bits = static_cast<std::uint8_t>(path_bits % path_count(remote.address));
  return route;
}

// All alternates of a primary route, the best first.
std::vector<Route> candidates(const Route& primary, std::span<const DevicePort> local,
                              std::span<const DevicePort> remote, const AlternatePreference& preference) {
  std::vector<Route> found;
  const DevicePort* here = find_port(local, primary.port);
  const DevicePort* there = find_port(remote, remote_port_of(primary, remote));
  const auto add = [&](const DevicePort* from, const DevicePort* to, unsigned bits) {
    if (from == nullptr || to == nullptr || !from->active || !to->active) return;
    const Route route = route_between(primary, *from, *to, bits);
    if (!same(route, primary)) found.push_back(route);
  };
  if (preference.kind == AlternatePreference::Kind::named) {
    for (const NamedAlternate& named : preference.named) {
      // The peer's port of the same number if it has one: rails are cabled alike.
      const DevicePort* to = find_port(remote, named.port);
      add(find_port(local, named.port), to != nullptr ? to : there, named.path_bits);
    }
    return found;
  }
  for (const DevicePort& port : local)
    if (port.number != primary.port) add(&port, find_port(remote, port.number), 0);
  const unsigned paths = here != nullptr && there != nullptr
                             ? std::max(path_count(here->address), path_count(there->address))
                             : 0;
  // The next path first, so that connections that share a path do not all share its alternate's load.
  for (unsigned step = 1; step < paths; ++step) add(here, there, (primary.source_path_bits + step) % paths);
  return found;
}

Error bad_list(std::string_view text) {
  return failure(
      ErrorClass::arg,
      "rail_migration is `{}`, which is none of off, auto, and a list of ports and path bits such as "
      "2/0,1/3 (ports from 1 to 254, path bits from 0 to 127)",
      text);
}

}  // namespace

Result<AlternatePreference> parse_alternates(std::string_view text) {
  AlternatePreference preference;
  if (text == "auto") return preference;
  if (text == "off") {
    preference.kind = AlternatePreference::Kind::off;
    return preference;
  }
  preference.kind = AlternatePreference::Kind::named;
  const char* at = text.data();
  const char* const end = at + text.size();
  for (bool more = true; more;) {
    unsigned port = 0;
    unsigned bits = 0;
    auto parsed = std::from_chars(at, end, port);
    if (parsed.ec != std::errc() || port < 1 || port > 254) return bad_list(text);
    if (parsed.ptr != end && *parsed.ptr == '/') {
      parsed = std::from_chars(parsed.ptr + 1, end, bits);
      if (parsed.ec != std::errc() || bits > 127) return bad_list(text);
    }
    more = parsed.ptr != end && *parsed.ptr == ',';
    if (!more && parsed.ptr != end) return bad_list(text);
    at = parsed.ptr + 1;
    preference.named.push_back({static_cast<std::uint8_t>(port), static_cast<std::uint8_t>(bits)});
  }
  return preference;
}

std::optional<Route> specify_alternate(const Route& primary, std::span<const DevicePort> local,
                                       std::span<const DevicePort> remote,
                                       const AlternatePreference& preference,
                                       const std::optional<Route>& avoid) {
  if (preference.kind == AlternatePreference::Kind::off) return std::nullopt;
  if (primary.destination.link_layer != rdma::LinkLayer::infiniband) return std::nullopt;
  const std::vector<Route> found = candidates(primary, local, remote, preference);
  for (const Route& route : found)
    if (!avoid.has_value() || !same(route, *avoid)) return route;
  if (!found.empty()) return found.front();
  return std::nullopt;
}

const char* migration_phase_name(MigrationPhase phase) {
  switch (phase) {
    case MigrationPhase::unloaded:
      return "unloaded";
    case MigrationPhase::loading:
      return "loading";
    case MigrationPhase::armed:
      return "armed";
    case MigrationPhase::failed:
      return "failed";
  }
  HAWSER_UNREACHABLE();
}

PathMigration::PathMigration(const MigrationSettings& settings, const Route& primary, Random& random)
    : settings_(settings),
      random_(random),
      primary_(primary),
      delay_(settings.first_retry),
      look_delay_(settings.first_look) {}

// Doubles up to the cap; half of it by chance.
Nanoseconds PathMigration::next_delay() {
  const Nanoseconds delay =
      delay_ - static_cast<Nanoseconds>(random_.below(static_cast<std::uint64_t>(delay_ / 2 + 1)));
  delay_ = std::min(delay_ * 2, settings_.longest_retry);
  return delay;
}

void PathMigration::request_load(Nanoseconds now) {
  if (settings_.preference.kind == AlternatePreference::Kind::off) return;
  if (phase_ == MigrationPhase::unloaded) due_ = std::min(due_, now);
}

bool PathMigration::advance(rdma::QueuePair& queue_pair, std::span<const DevicePort> local,
                            std::span<const DevicePort> remote, Nanoseconds now) {
  if (now < due_) return false;
  const MigrationPhase before = phase_;
  switch (phase_) {
    case MigrationPhase::unloaded:
      load(queue_pair, local, remote, now);
      break;
    case MigrationPhase::loading:
      look(queue_pair, now);
      break;
    case MigrationPhase::armed:
    case MigrationPhase::failed:
      due_ = never;
      break;
  }
  return phase_ != before;
}

void PathMigration::load(rdma::QueuePair& queue_pair, std::span<const DevicePort> local,
                         std::span<const DevicePort> remote, Nanoseconds now) {
  const auto route = specify_alternate(primary_, local, remote, settings_.preference, left_);
  if (!route.has_value() || !queue_pair.load_alternate(*route, settings_.acknowledge_time)) {
    due_ = now + next_delay();
    return;
  }
  alternate_ = route;
  phase_ = MigrationPhase::loading;
  look_delay_ = settings_.first_look;
  due_ = now + look_delay_;
}

void PathMigration::look(rdma::QueuePair& queue_pair, Nanoseconds now) {
  const auto state = queue_pair.migration_state();
  if (state && state.value() == rdma::MigrationState::armed) {
    phase_ = MigrationPhase::armed;
    due_ = never;
    if (last_migration_ < 0 || now - last_migration_ >= settings_.calm) delay_ = settings_.first_retry;
    return;
  }
  if (state && state.value() == rdma::MigrationState::migrated) {
    // It was taken at once, or never took: the event, if there is one, tells which. Load again if not.
    phase_ = MigrationPhase::unloaded;
    alternate_.reset();
    due_ = now + next_delay();
    return;
  }
  // The peer has not loaded its own yet.
  look_delay_ = std::min(look_delay_ * 2, settings_.longest_retry);
  due_ = now + look_delay_;
}

void PathMigration::on_migrated(Nanoseconds now) {
  if (phase_ == MigrationPhase::failed) return;
  ++migrations_;
  if (alternate_.has_value()) {
    left_ = primary_;
    primary_ = *alternate_;
    alternate_.reset();
  }
  if (last_migration_ >= 0 && now - last_migration_ >= settings_.calm) delay_ = settings_.first_retry;
  last_migration_ = now;
  phase_ = MigrationPhase::unloaded;
  due_ = settings_.preference.kind == AlternatePreference::Kind::off ? never : now + next_delay();
}

void PathMigration::on_migration_failed() {
  phase_ = MigrationPhase::failed;
  due_ = never;
}

PortDownAction PathMigration::on_port_down(std::uint8_t port) const {
  if (primary_.port != port) return PortDownAction::none;
  if (phase_ == MigrationPhase::armed && alternate_->port != port) return PortDownAction::migrate;
  return PortDownAction::fail;
}

bool PathMigration::migrate(rdma::QueuePair& queue_pair) {
  return phase_ == MigrationPhase::armed && static_cast<bool>(queue_pair.migrate());
}

}  // namespace hawser
