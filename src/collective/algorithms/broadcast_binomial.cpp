// Broadcast down a binomial tree: whoever has the data passes it on, to the largest subtree first.
#include "collective/algorithms/algorithms.h"
#include "collective/algorithms/tree_blocks.h"

namespace hawser::algorithms {

Task broadcast_binomial(Operation& operation) {
  const int ranks = operation.size();
  const int root = operation.plan.root;
  const int relative = (operation.rank() - root + ranks) % ranks;
  const Blocks& data = operation.plan.receive;
  int distance = 1;
  while (distance < ranks && (relative & distance) == 0) distance *= 2;
  if (relative != 0) {
    operation.receive((relative - distance + root) % ranks, data.base, data.size);
    co_await operation.arrived();
  }
  // Who got another amount than it expected passes on nothing, so that everyone below notices, too.
  const std::int64_t bytes = operation.failed() ? 0 : data.size;
  for (distance /= 2; distance > 0; distance /= 2) {
    if (relative + distance >= ranks) continue;
    const int to = (relative + distance + root) % ranks;
    operation.send(to, data.base, bytes);
    if (bytes > most_at_once(operation, to)) co_await operation.arrived();
  }
  co_await operation.arrived();
}

}  // namespace hawser::algorithms
