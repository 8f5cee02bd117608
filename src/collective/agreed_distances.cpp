#include "collective/agreed_distances.h"

#include "collective/algorithms/algorithms.h"

namespace hawser {

namespace {

// A rank's round trips may be long because others' messages were on the way; none is short. So the shortest
// one that is known tells how far rails are.
RailDistances join(const RailDistances& one, const RailDistances& other) {
  const auto [shorter, longer] = std::minmax(one.round_trip, other.round_trip);
  return {shorter > 0 ? shorter : longer, std::max(one.detour, other.detour)};
}

}  // namespace

// Up a binomial tree, and down again.
Task agree_on(Operation& operation, AgreedFacts& facts) {
  const int rank = operation.rank(), size = operation.size();
  auto* const own = reinterpret_cast<std::byte*>(&facts);
  for (int distance = 1; distance < size; distance *= 2) {
    if ((rank & distance) != 0) {
      operation.send(rank - distance, own, sizeof(AgreedFacts));
      co_await operation.arrived();
      break;
    }
    if (rank + distance >= size) continue;
    AgreedFacts other;
    operation.receive(rank + distance, reinterpret_cast<std::byte*>(&other), sizeof(AgreedFacts));
    co_await operation.arrived();
    facts = {join(facts.distances, other.distances), facts.blocks.joined(other.blocks)};
  }
  operation.plan = Plan{};
  operation.plan.receive.base = own;
  operation.plan.receive.size = sizeof(AgreedFacts);
  co_await algorithms::broadcast_binomial(operation);
}

}  // namespace hawser
