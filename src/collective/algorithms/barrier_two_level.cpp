// Barrier of two levels: every node's ranks report to its leader, the leaders wait for each other, and then
// let their nodes go.
#include "collective/algorithms/two_level.h"

namespace hawser::algorithms {

Task barrier_two_level(Operation& operation) {
  const NodeLayout& nodes = *operation.nodes();
  among_node(operation);
  const int neighbors = operation.size();
  if (nodes.place != 0) {
    operation.send(0, nullptr, 0);
    operation.receive(0, nullptr, 0);
    co_await operation.arrived();
    operation.among_all();
    co_return;
  }
  for (int r = 1; r < neighbors; ++r) operation.receive(r, nullptr, 0);
  co_await operation.arrived();
  among_leaders(operation, nodes.leaders.data());
  co_await best(operation, Collective::barrier, 0);
  among_node(operation);
  for (int r = 1; r < neighbors; ++r) operation.send(r, nullptr, 0);
  co_await operation.arrived();
  operation.among_all();
}

}  // namespace hawser::algorithms
