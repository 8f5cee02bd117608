#include "testbed/exec/drawn_faults.h"

#include <cmath>

#include "base/failure.h"
#include "base/random.h"
#include "testbed/campaign/incidents.h"

namespace hawser {
namespace {

constexpr Nanoseconds patience = 60 * second;  // as in the campaign of faults
constexpr std::uint64_t most_incidents = 5;

Result<FabricParts> parts_of(const LaidOutFabric& plan, Random& random) {
  FabricParts parts;
  parts.hosts = static_cast<int>(plan.topology.hosts().size());
  parts.rails = 0;
  for (const fabric::TopologyNode& node : plan.topology.nodes()) {
    if (node.kind == fabric::NodeKind::switch_device) parts.switches.push_back(node.name);
    if (node.name.starts_with("n0/hw")) ++parts.rails;
  }
  const auto switches = static_cast<int>(parts.switches.size());
  if (parts.rails == 0 || (switches != 1 && switches != parts.rails)) {
    return failure(
        ErrorKind::invalid_argument,
        "faults are drawn for single-switch and two-switch; this topology has {} switches and {} rails",
        switches, parts.rails);
  }
  parts.mortal_rail = static_cast<int>(random.below(static_cast<std::uint64_t>(parts.rails)));
  parts.mortal_host = static_cast<int>(random.below(static_cast<std::uint64_t>(parts.hosts)));
  return parts;
}

const IncidentKind& draw_kind(const FabricParts& parts, Random& random) {
  const auto kinds = incident_kinds();
  for (;;) {
    const IncidentKind& kind = *kinds[random.below(kinds.size())];
    if (kind.possible(parts)) return kind;
  }
}

// From 5 us to 100 ms, every order of magnitude equally likely.
Nanoseconds draw_duration(Random& random) {
  return static_cast<Nanoseconds>(5e3 * std::pow(2e4, random.uniform()));
}

}  // namespace

Result<> draw_faults(FabricOptions& fabric, std::uint64_t seed, std::uint64_t packets) {
  Random random(seed * 0x9e3779b97f4a7c15u + 2);
  auto parts = parts_of(*fabric.laid_out, random);
  if (!parts) return parts.take_error();
  const std::uint64_t count = 1 + random.below(most_incidents);
  for (std::uint64_t i = 0; i < count; ++i) {
    Incident incident;
    draw_kind(parts.value(), random).draw(parts.value(), random, incident);
    incident.lasts = draw_duration(random);
    incident.after_packets = 1 + random.below(packets);
    fabric.incidents.push_back(std::move(incident));
  }
  fabric.heal = healing(parts.value());
  fabric.patience = patience;
  return {};
}

}  // namespace hawser
