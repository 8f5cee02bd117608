// Allgather of equal blocks by recursive doubling, for powers of two: partners exchange all they hold.
#include "collective/algorithms/algorithms.h"

namespace hawser::algorithms {

Task allgather_recursive_doubling(Operation& operation) {
  const Blocks& blocks = operation.plan.receive;
  const int rank = operation.rank();
  for (int distance = 1; distance < operation.size(); distance *= 2) {
    const int partner = rank ^ distance;
    const int mine = rank & ~(distance - 1);
    const int theirs = partner & ~(distance - 1);
    operation.receive(partner, blocks.at(theirs), distance * blocks.size);
    operation.send(partner, blocks.at(mine), distance * blocks.size);
    co_await operation.arrived();
  }
}

}  // namespace hawser::algorithms
