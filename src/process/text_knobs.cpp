#include "process/text_knobs.h"

#include "access/ofi/network_interface.h"
#include "channel/lane_count.h"
#include "collective/algorithm_choice.h"
#include "mpi/failure.h"
#include "os/socket.h"
#include "rails/decision/path_migration.h"
#include "rails/decision/path_records.h"
#include "rails/decision/victim_choice.h"
#include "rails/policy/scheduling_policy.h"
#include "rails/wire/pairing.h"

namespace hawser {

namespace {

Result<> check_algorithms(const Knobs& knobs) { return AlgorithmChoice().parse(knobs.collective_algorithm); }

Result<> check_address(const Knobs& knobs) {
  if (knobs.socket_address.empty() || is_ipv4_address(knobs.socket_address)) return {};
  return failure(ErrorClass::arg, "HAWSER_SOCKET_ADDRESS={}: must be an IPv4 address such as 10.0.0.1",
                 knobs.socket_address);
}

Result<> check_policy(const Knobs& knobs) {
  auto policy = make_scheduling_policy(knobs.rail_policy, 0);
  if (!policy) return policy.take_error();
  return {};
}

Result<> check_migration(const Knobs& knobs) {
  auto alternates = parse_alternates(knobs.rail_migration);
  if (!alternates) return alternates.take_error();
  return {};
}

Result<> check_connections(const Knobs& knobs) {
  auto connections = parse_connections(knobs.connections);
  if (!connections) return connections.take_error();
  return {};
}

Result<> check_paths(const Knobs& knobs) {
  auto paths = parse_ways("HAWSER_RAIL_PATHS", knobs.rail_paths, most_paths);
  if (!paths) return paths.take_error();
  return {};
}

Result<> check_engines(const Knobs& knobs) {
  auto engines = parse_ways("HAWSER_RAIL_ENGINES", knobs.rail_engines, most_engines);
  if (!engines) return engines.take_error();
  return {};
}

Result<> check_lanes(const Knobs& knobs) {
  auto lanes = parse_lanes(knobs.thread_lanes);
  if (!lanes) return lanes.take_error();
  return {};
}

Result<> check_service_level(const Knobs& knobs) {
  auto level = parse_service_level(knobs.rail_service_level);
  if (!level) return level.take_error();
  return {};
}

Result<> check_partition(const Knobs& knobs) {
  auto partition = parse_partition(knobs.rail_partition);
  if (!partition) return partition.take_error();
  return {};
}

// Files, and interfaces that only a machine has or has not.
Result<> check_nothing(const Knobs&) { return {}; }

constexpr TextKnob knobs_of_text[] = {
    {"HAWSER_COLLECTIVE_ALGORITHM", check_algorithms},
    {"HAWSER_COLLECTIVE_TABLE", check_nothing},
    {"HAWSER_SOCKET_ADDRESS", check_address},
    {"HAWSER_RAIL_ETHERNET", check_nothing},
    {"HAWSER_RAIL_POLICY", check_policy},
    {"HAWSER_RAIL_MIGRATION", check_migration},
    {"HAWSER_EVENT_LOG", check_nothing},
    {"HAWSER_CONNECTIONS", check_connections},
    {"HAWSER_RAIL_SERVICE_LEVEL", check_service_level},
    {"HAWSER_RAIL_PARTITION", check_partition},
    {"HAWSER_RAIL_PATHS", check_paths},
    {"HAWSER_RAIL_ENGINES", check_engines},
    {"HAWSER_THREAD_LANES", check_lanes},
};

}  // namespace

std::span<const TextKnob> text_knobs() { return knobs_of_text; }

Result<> check_text_knobs(const Knobs& knobs) {
  for (const TextKnob& knob : knobs_of_text) HAWSER_TRY(knob.check(knobs));
  return {};
}

Result<> check_machine_knobs(const Knobs& knobs) {
  if (knobs.rail_ethernet.empty()) return {};
  auto interfaces = rdma::listed_interfaces(knobs.rail_ethernet);
  if (interfaces) return {};
  return failure(ErrorClass::arg, "HAWSER_RAIL_ETHERNET={}: {}", knobs.rail_ethernet,
                 interfaces.error().text);
}

}  // namespace hawser
