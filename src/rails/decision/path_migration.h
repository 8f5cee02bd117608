// PathMigration: automatic path migration of one connection (V07 chapter 9; InfiniBand architecture 17.2.8).
// The adapter keeps an alternate route and takes it by itself when the primary one fails, without a
// completion in error; what remains for software is to say which route, to load it (REARM, then ARMED), to
// load a new one after a migration, and to fail over itself where the adapter could not.
//
// Both ends must load the same alternate: one of them decides, offers it to the other, and loads it when that
// one has. Who carries the offers is alternate_paths.h. The decisions are pure; the queue pair is called for
// nothing but load, migrate and the state. One object per queue pair, a new one for each generation.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "access/rdma.h"
#include "base/random.h"
#include "base/time.h"

namespace hawser {

// A port of the device that one end of a connection is on.
struct DevicePort {
  std::uint8_t number = 1;
  bool active = false;
  rdma::PortAddress address;
};

// An alternate as a user names it: "2" (port), "2/1" (port and path bits).
struct NamedAlternate {
  std::uint8_t port = 1;
  std::uint8_t path_bits = 0;
  bool operator==(const NamedAlternate&) const = default;
};

struct AlternatePreference {
  enum class Kind : std::uint8_t { off, automatic, named };
  Kind kind = Kind::automatic;
  std::vector<NamedAlternate> named;  // the first that is possible
};
// Value of the knob rail_migration: off, auto, or a list such as "2/0,1/3". An error says what is wrong.
Result<AlternatePreference> parse_alternates(std::string_view text);

// Alternate path specification (V07 9.2.1): the other port of both devices if both have one that is active,
// else other path bits of the same ports, else nothing. `avoid`: the route that failed last, taken only if
// there is no other. InfiniBand only.
std::optional<rdma::Route> specify_alternate(const rdma::Route& primary, std::span<const DevicePort> local,
                                             std::span<const DevicePort> remote,
                                             const AlternatePreference& preference,
                                             const std::optional<rdma::Route>& avoid = std::nullopt);

enum class MigrationPhase : std::uint8_t {
  unloaded,  // no alternate: none wanted yet, none possible, or after a migration
  offered,   // the deciding end waits for the other one to load it
  loading,   // REARM: the adapters of both ends have to agree
  armed,     // the adapter takes it when it must
  failed,    // a migration failed: software's turn
};
const char* migration_phase_name(MigrationPhase phase);

struct MigrationSettings {
  AlternatePreference preference;
  Nanoseconds acknowledge_time = 2 * millisecond;  // on the alternate route
  // An offer that was declined or found nothing is made again after first_retry, then less and less often; so
  // are loads after migrations that follow one another (a route that flaps).
  Nanoseconds first_retry = 1 * millisecond;
  Nanoseconds longest_retry = 1 * second;
  Nanoseconds stable_time = 10 * second;          // without a migration: back to first_retry
  Nanoseconds first_look = 1 * millisecond;       // whether a load is through; later less often
  std::uint32_t most_looks = 8;                   // then it is looked at when it is needed
  Nanoseconds offer_timeout = 200 * millisecond;  // with an offer
  Nanoseconds first_stay = 1 * second;            // on an alternate before the first route is tried again
  Nanoseconds longest_stay = 60 * second;         // if it flaps
};

// What to do about a local port that went down.
enum class PortDownAction : std::uint8_t {
  none,     // the connection does not use it (any more)
  unload,   // only its alternate did: that is void
  migrate,  // ask the adapter to take the alternate now, not only after its retries
  fail,     // no alternate that avoids it: a failure of the subchannel
};

class PathMigration {
 public:
  // `primary`: as connected. Settings and generator outlive this.
  PathMigration(const MigrationSettings& settings, const rdma::Route& primary, bool decides, Random& random);

  // Path loading request (V07 9.2.2): at any time from when the queue pair can send; once more does no harm.
  // Only at the deciding end.
  void request_load(Nanoseconds now);
  // Does what is due at the deciding end: looks for an alternate, looks whether a load is through, goes back
  // to the first route. An alternate that is returned is to be offered to the peer.
  std::optional<rdma::Route> advance(rdma::QueuePair& queue_pair, std::span<const DevicePort> local,
                                     std::span<const DevicePort> remote, Nanoseconds now);
  // The offered route with what its path record says.
  void complete_offer(const rdma::Route& route);
  // The peer has loaded what was offered, or cannot; or it takes back what it loaded.
  void on_agreed(rdma::QueuePair& queue_pair, Nanoseconds now);
  void on_declined(Nanoseconds now);
  // At the other end: loads what was offered. False: the device refuses.
  bool load(rdma::QueuePair& queue_pair, const rdma::Route& route);
  // When advance has something to do; never: not by itself.
  Nanoseconds due() const { return due_; }

  // The event path_migrated: the alternate is the primary route now.
  void on_migrated(Nanoseconds now);
  // The event path_migration_failed.
  void on_migration_failed();
  PortDownAction on_port_down(std::uint8_t port) const;
  // The alternate cannot be taken any more.
  void unload(Nanoseconds now);
  // A port of the device is active again; at the deciding end also: that of the peer where the first route
  // ends.
  void on_port_back(std::uint8_t port, Nanoseconds now);
  // Path migration on request (V07 9.2.3), for load balancing or ahead of the adapter's retries. False: not
  // armed, or the device refuses. The event follows.
  bool migrate(rdma::QueuePair& queue_pair);
  // The adapter took the alternate by itself, or because the peer's did, and its event is still to come.
  bool just_migrated(rdma::QueuePair& queue_pair) const;

  MigrationPhase phase() const { return phase_; }
  bool decides() const { return decides_; }
  const rdma::Route& primary() const { return primary_; }
  const rdma::Route& original_route() const { return original_route_; }
  const std::optional<rdma::Route>& alternate() const { return alternate_; }  // loaded last
  bool migrated_away() const;                                                 // from the first route
  std::uint32_t migrations() const { return migrations_; }

 private:
  std::optional<rdma::Route> offer(const std::optional<rdma::Route>& route, Nanoseconds now);
  std::optional<rdma::Route> return_to_original(rdma::QueuePair& queue_pair,
                                                std::span<const DevicePort> local,
                                                std::span<const DevicePort> remote, Nanoseconds now);
  void look(rdma::QueuePair& queue_pair, Nanoseconds now);
  void try_again(Nanoseconds due);
  Nanoseconds next_delay();

  const MigrationSettings& settings_;
  Random& random_;
  const bool decides_;
  const rdma::Route original_route_;
  rdma::Route primary_;
  std::optional<rdma::Route> alternate_;  // that the adapter may take, whatever the phase
  std::optional<rdma::Route> offered_;
  std::optional<rdma::Route> left_;  // the primary before the last migration, or what was declined last
  MigrationPhase phase_ = MigrationPhase::unloaded;
  Nanoseconds due_ = never;
  Nanoseconds delay_;
  Nanoseconds stay_;
  Nanoseconds return_at_ = 0;  // not before, if it migrated away
  bool returns_ = false;       // the adapter was asked to
  std::uint32_t looks_ = 0;
  Nanoseconds last_migration_ = -1;
  std::uint32_t migrations_ = 0;
};

}  // namespace hawser
