#include "fabric/adapter/migration.h"

#include <fmt/core.h>

#include <utility>

#include "fabric/adapter/adapter.h"

namespace hawser::fabric {
namespace {

std::uint32_t mix(std::uint32_t value) {
  value ^= value >> 16;
  value *= 0x7feb352du;
  value ^= value >> 15;
  value *= 0x846ca68bu;
  return value ^ (value >> 16);
}

}  // namespace

void fill_route(const Adapter& adapter, const AdapterPort& from, const AddressVector& path,
                std::uint32_t source_qp, std::uint32_t destination_qp, Packet& packet) {
  const FabricServices& services = adapter.services();
  packet.service_level = path.service_level;
  packet.source_lid = static_cast<Lid>(from.lid() + (path.source_path_bits & ((1u << from.lmc()) - 1)));
  packet.destination_lid = path.destination_lid;
  packet.has_grh = path.is_global;
  if (!path.is_global) return;
  packet.source_gid =
      path.source_gid_index < from.gids().size() ? from.gids()[path.source_gid_index].gid : Gid{};
  packet.destination_gid = path.destination_gid;
  packet.flow_label = path.flow_label;
  packet.traffic_class = path.traffic_class;
  packet.hop_limit = path.hop_limit;
  if (services.parameters.link_layer != LinkLayer::ethernet) return;
  packet.destination_lid = 0;
  if (packet.source_gid == Gid{}) return;
  if (path.destination_gid[0] == 0xff) {
    const auto group = services.multicast_lids.find(path.destination_gid);
    if (group != services.multicast_lids.end()) packet.destination_lid = group->second;
    return;
  }
  const PortName* const owner = from.owner_of(path);
  if (owner == nullptr) return;
  const RoutingTables::PortAddress address = services.tables.address(*owner);
  // As routers hash the UDP source port, which adapters derive from the same numbers.
  const std::uint32_t entropy = path.flow_label != 0 ? path.flow_label : mix(source_qp) ^ destination_qp;
  packet.destination_lid = static_cast<Lid>(address.base + (mix(entropy) & ((1u << address.lmc) - 1)));
}

void QueuePair::note_migration_bit(const Packet& packet) {
  switch (attributes_.migration_state) {
    case MigrationState::migrated:
      return;
    case MigrationState::rearm:
      if (!packet.migrated) attributes_.migration_state = MigrationState::armed;
      return;
    case MigrationState::armed:
      break;
  }
  if (!packet.migrated) return;
  // The other end has migrated; its packets must come by the alternate path.
  const AddressVector& alternate = attributes_.alternate_path;
  const bool by_alternate = alternate.destination_lid == packet.source_lid || alternate.is_global;
  if (by_alternate) {
    migrate();
  } else if (packet.source_lid != attributes_.path.destination_lid) {
    raise(AsyncEventType::path_migration_error);
  }
}

void QueuePair::migrate() {
  std::swap(attributes_.path, attributes_.alternate_path);
  std::swap(attributes_.port, attributes_.alternate_port);
  std::swap(attributes_.pkey_index, attributes_.alternate_pkey_index);
  std::swap(attributes_.timeout, attributes_.alternate_timeout);
  attributes_.migration_state = MigrationState::migrated;
  // It may wait in the line of the port it leaves. An engine that is at it lets go at its next packet.
  adapter_.port(attributes_.alternate_path.port).unqueue(*this);
  raise(AsyncEventType::path_migrated);
  adapter_.services().trace.log(
      adapter_.now(),
      fmt::format("{} qp {} migrated: LID {} instead of {}", adapter_.description().name, number_,
                  attributes_.path.destination_lid, attributes_.alternate_path.destination_lid));
  requester_.resend_all();
  kick();
}

bool QueuePair::migrate_on_failure() {
  if (attributes_.migration_state != MigrationState::armed) return false;
  migrate();
  return true;
}

}  // namespace hawser::fabric
