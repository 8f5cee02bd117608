// Barrier of two levels: every node's ranks report to its leader up a binomial tree, the leaders wait for
// each other, and their nodes are let go down the tree.
#include "collective/algorithms/two_level.h"

namespace hawser::algorithms {

Task barrier_two_level(Operation& operation) {
  const NodeLayout& nodes = *operation.nodes();
  const int place = nodes.place;
  among_node(operation);
  const int ranks = operation.size();
  int distance = 1;
  for (; distance < ranks && (place & distance) == 0; distance *= 2)
    if (place + distance < ranks) operation.receive(place + distance, nullptr, 0);
  co_await operation.arrived();
  if (place != 0) {
    operation.send(place - distance, nullptr, 0);
    operation.receive(place - distance, nullptr, 0);
    co_await operation.arrived();
  } else {
    among_leaders(operation, nodes.leaders.data());
    co_await best_between(operation, Collective::barrier, 0);
    among_node(operation);
  }
  for (distance /= 2; distance > 0; distance /= 2)
    if (place + distance < ranks) operation.send(place + distance, nullptr, 0);
  co_await operation.arrived();
  operation.among_all();
}

}  // namespace hawser::algorithms
