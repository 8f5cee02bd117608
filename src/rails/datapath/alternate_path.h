// AlternatePath: what a subchannel has of automatic path migration (recovery/alternate_paths.h).
#pragma once

#include <algorithm>
#include <optional>

#include "rails/decision/path_migration.h"
#include "rails/wire/packet.h"

namespace hawser {

struct AlternatePath {
  AlternatePath(const MigrationSettings& settings, const rdma::Route& primary, bool decides, Random& random)
      : machine(settings, primary, decides, random) {}
  Nanoseconds due() const { return std::min(machine.due(), own_due); }

  PathMigration machine;
  std::optional<AlternateBody> offer;    // of the peer, not looked at yet
  std::optional<AlternateBody> message;  // to be sent
  std::optional<rdma::Route> proposed;   // chosen here, and offered when its path record is known
  bool asked = false;                    // the adapter to migrate, and its event is to come
  Nanoseconds left_at = -1;              // when a route was left that failed; -1: it did not
  std::uint16_t left_rail = 0;           // on which it was,
  std::uint8_t left_path = 0;            // with these path bits
  bool tells_migration = false;          // to the peer's adapter, by a packet
  bool tells_port_back = false;          // to the end that decides
  std::uint32_t number = 0;              // of the last offer
  Nanoseconds own_due = never;           // of these
};

}  // namespace hawser
