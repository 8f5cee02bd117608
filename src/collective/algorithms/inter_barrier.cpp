// Barrier of two groups: each gathers, the first ranks tell each other, each goes on.
#include "collective/algorithms/inter.h"

namespace hawser::algorithms {

Task inter_barrier(Operation& operation) {
  operation.switch_groups();
  if (operation.size() > 1) co_await barrier_dissemination(operation);
  operation.switch_groups();
  if (operation.rank() == 0) {
    operation.receive(0, nullptr, 0);
    operation.send(0, nullptr, 0);
    co_await operation.arrived();
  }
  co_await inter_spread(operation, nullptr, 0);
}

}  // namespace hawser::algorithms
