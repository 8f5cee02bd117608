#include "rails/decision/path_migration.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/assert.h"
#include "base/enum_names.h"
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
      ErrorKind::invalid_argument,
      "HAWSER_RAIL_MIGRATION={}: must be auto, off, or a list of ports and path bits such as 2/0,1/3 (ports "
      "from 1 to 254, path bits from 0 to 127)",
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

const char* migration_phase_name(MigrationPhase phase) { return enum_name(phase); }

PathMigration::PathMigration(const MigrationSettings& settings, const Route& primary, bool decides,
                             Random& random)
    : settings_(settings),
      random_(random),
      decides_(decides),
      original_route_(primary),
      primary_(primary),
      delay_(settings.first_retry),
      stay_(settings.first_stay) {}

bool PathMigration::migrated_away() const { return !same(primary_, original_route_); }

// Doubles up to the cap; half of it by chance.
Nanoseconds PathMigration::next_delay() {
  const Nanoseconds delay =
      delay_ - static_cast<Nanoseconds>(random_.below(static_cast<std::uint64_t>(delay_ / 2 + 1)));
  delay_ = std::min(delay_ * 2, settings_.longest_retry);
  return delay;
}

void PathMigration::request_load(Nanoseconds now) {
  if (!decides_ || settings_.preference.kind == AlternatePreference::Kind::off) return;
  if (phase_ == MigrationPhase::unloaded) due_ = std::min(due_, now);
}

std::optional<Route> PathMigration::advance(rdma::QueuePair& queue_pair, std::span<const DevicePort> local,
                                            std::span<const DevicePort> remote, Nanoseconds now) {
  if (now < due_) return std::nullopt;
  switch (phase_) {
    case MigrationPhase::unloaded:
      return offer(specify_alternate(primary_, local, remote, settings_.preference, left_), now);
    case MigrationPhase::offered:  // no answer
      try_again(now + next_delay());
      return std::nullopt;
    case MigrationPhase::loading:
      look(queue_pair, now);
      return std::nullopt;
    case MigrationPhase::armed:
      return return_to_original(queue_pair, local, remote, now);
    case MigrationPhase::failed:
      due_ = never;
      return std::nullopt;
  }
  HAWSER_UNREACHABLE();
}

std::optional<Route> PathMigration::offer(const std::optional<Route>& route, Nanoseconds now) {
  if (!route.has_value()) {
    due_ = now + next_delay();
    return std::nullopt;
  }
  offered_ = route;
  phase_ = MigrationPhase::offered;
  due_ = now + settings_.offer_timeout;
  return route;
}

void PathMigration::complete_offer(const Route& route) {
  if (phase_ == MigrationPhase::offered) offered_ = route;
}

// The load of two routes on one is to end when the first one is well again. That both ends arm it says that
// both ports are active.
std::optional<Route> PathMigration::return_to_original(rdma::QueuePair& queue_pair,
                                                       std::span<const DevicePort> local,
                                                       std::span<const DevicePort> remote, Nanoseconds now) {
  due_ = never;
  if (!migrated_away()) return std::nullopt;
  due_ = now + stay_;
  if (same(*alternate_, original_route_)) {
    returns_ = migrate(queue_pair);
    return std::nullopt;
  }
  const DevicePort* const here = find_port(local, original_route_.port);
  if (here == nullptr || !here->active || remote_port_of(original_route_, remote) == 0) return std::nullopt;
  return offer(original_route_, now);
}

void PathMigration::on_agreed(rdma::QueuePair& queue_pair, Nanoseconds now) {
  if (phase_ != MigrationPhase::offered) return;
  if (!queue_pair.load_alternate(*offered_, settings_.acknowledge_time)) {
    try_again(now + next_delay());
    return;
  }
  alternate_ = offered_;
  phase_ = MigrationPhase::loading;
  looks_ = 0;
  due_ = now + settings_.first_look;
}

void PathMigration::on_declined(Nanoseconds now) {
  if (phase_ == MigrationPhase::unloaded || phase_ == MigrationPhase::failed) return;
  left_ = phase_ == MigrationPhase::offered ? offered_ : alternate_;
  try_again(now + next_delay());
}

bool PathMigration::load(rdma::QueuePair& queue_pair, const Route& route) {
  if (phase_ == MigrationPhase::failed || !queue_pair.load_alternate(route, settings_.acknowledge_time))
    return false;
  alternate_ = route;
  phase_ = MigrationPhase::loading;
  return true;
}

void PathMigration::try_again(Nanoseconds due) {
  phase_ = MigrationPhase::unloaded;
  offered_.reset();
  due_ = decides_ && settings_.preference.kind != AlternatePreference::Kind::off ? due : never;
}

void PathMigration::look(rdma::QueuePair& queue_pair, Nanoseconds now) {
  const auto state = queue_pair.migration_state();
  if (state && state.value() == rdma::MigrationState::armed) {
    phase_ = MigrationPhase::armed;
    due_ = migrated_away() ? std::max(now + settings_.first_retry, return_at_) : never;
    if (last_migration_ < 0 || now - last_migration_ >= settings_.stable_time) delay_ = settings_.first_retry;
    return;
  }
  if (state && state.value() == rdma::MigrationState::migrated) {
    // It was taken at once, or never took: the event, if there is one, tells which. Load again if not.
    try_again(now + next_delay());
    return;
  }
  // The peer is late; an idle connection may stay so for long.
  ++looks_;
  due_ = looks_ < settings_.most_looks ? now + (settings_.first_look << looks_)
         : migrated_away()             ? now + stay_
                                       : never;
}

void PathMigration::on_migrated(Nanoseconds now) {
  if (phase_ == MigrationPhase::failed) return;
  ++migrations_;
  if (alternate_.has_value()) {
    left_ = primary_;
    primary_ = *alternate_;
    alternate_.reset();
  }
  const bool stable = last_migration_ < 0 || now - last_migration_ >= settings_.stable_time + stay_;
  if (stable) delay_ = settings_.first_retry;
  stay_ = stable ? settings_.first_stay : std::min(2 * stay_, settings_.longest_stay);
  last_migration_ = now;
  return_at_ = now + stay_;
  // Back on the first route, which may fail again soon. How often it goes back is limited.
  const bool returned = std::exchange(returns_, false) && !migrated_away();
  try_again(now + (returned ? settings_.first_retry : next_delay()));
}

void PathMigration::on_migration_failed() {
  phase_ = MigrationPhase::failed;
  due_ = never;
}

PortDownAction PathMigration::on_port_down(std::uint8_t port) const {
  const bool loaded = phase_ == MigrationPhase::armed || phase_ == MigrationPhase::loading;
  const bool alternate_uses_it = alternate_.has_value() && alternate_->port == port;
  if (primary_.port != port) return alternate_uses_it ? PortDownAction::unload : PortDownAction::none;
  return loaded && !alternate_uses_it ? PortDownAction::migrate : PortDownAction::fail;
}

void PathMigration::unload(Nanoseconds now) {
  if (phase_ != MigrationPhase::failed) try_again(now + next_delay());
}

// How long to stay is a guess as long as nobody knows what became of the first route. A port that says that
// it is back has not to be guessed about; only one that flaps has to wait, a fraction of that time.
void PathMigration::on_port_back(std::uint8_t port, Nanoseconds now) {
  if (phase_ == MigrationPhase::unloaded && due_ != never) due_ = std::min(due_, now + settings_.first_retry);
  if (!migrated_away() || port != original_route_.port) return;
  return_at_ = std::min(return_at_, last_migration_ + (stay_ - settings_.first_stay) / 16);
  if (phase_ == MigrationPhase::armed)
    due_ = std::min(due_, std::max(return_at_, now + settings_.first_retry));
}

bool PathMigration::migrate(rdma::QueuePair& queue_pair) {
  return (phase_ == MigrationPhase::armed || phase_ == MigrationPhase::loading) &&
         static_cast<bool>(queue_pair.migrate());
}

bool PathMigration::just_migrated(rdma::QueuePair& queue_pair) const {
  if (phase_ != MigrationPhase::armed && phase_ != MigrationPhase::loading) return false;
  const auto state = queue_pair.migration_state();
  return state && state.value() == rdma::MigrationState::migrated;
}

}  // namespace hawser
