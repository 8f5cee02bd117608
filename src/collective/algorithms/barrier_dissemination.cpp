// Barrier by dissemination (Hensgen, Finkel, Manber 1988): in round k every rank tells the rank 2^k above it
// and hears from the one 2^k below, so after the last round everyone has heard of everyone.
#include "collective/algorithms/algorithms.h"

namespace hawser::algorithms {

Task barrier_dissemination(Operation& operation) {
  const int ranks = operation.size();
  const int rank = operation.rank();
  for (int distance = 1; distance < ranks; distance *= 2) {
    operation.receive((rank - distance + ranks) % ranks, nullptr, 0);
    operation.send((rank + distance) % ranks, nullptr, 0);
    co_await operation.arrived();
  }
}

}  // namespace hawser::algorithms
