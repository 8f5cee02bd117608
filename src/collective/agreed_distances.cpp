#include "collective/agreed_distances.h"

#include "collective/algorithms/algorithms.h"

namespace hawser {

// Up a binomial tree, and down again.
Task agree_on_largest(Operation& operation, RailDistances& distances) {
  const int rank = operation.rank(), size = operation.size();
  auto* const own = reinterpret_cast<std::byte*>(&distances);
  for (int distance = 1; distance < size; distance *= 2) {
    if ((rank & distance) != 0) {
      operation.send(rank - distance, own, sizeof(RailDistances));
      co_await operation.arrived();
      break;
    }
    if (rank + distance >= size) continue;
    RailDistances other;
    operation.receive(rank + distance, reinterpret_cast<std::byte*>(&other), sizeof(RailDistances));
    co_await operation.arrived();
    distances = {std::max(distances.round_trip, other.round_trip), std::max(distances.detour, other.detour)};
  }
  operation.plan = Plan{};
  operation.plan.receive.base = own;
  operation.plan.receive.size = sizeof(RailDistances);
  co_await algorithms::broadcast_binomial(operation);
}

}  // namespace hawser
