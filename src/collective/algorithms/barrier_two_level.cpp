// Barrier of two levels: every node's ranks report to its leader, in shared memory or up a binomial tree, the
// leaders wait for each other, and their nodes are let go the same way.
#include "collective/algorithms/two_level.h"
#include "collective/shared/collectives.h"

namespace hawser::algorithms {

namespace {

Task between_leaders(Operation& operation) {
  among_leaders(operation, operation.nodes()->leaders.data());
  co_await best_between(operation, Collective::barrier, 0);
  among_node(operation);
}

Task around_a_team(Operation& operation) {
  co_await operation.together(NodePart::up, [](Operation&, SharedCollectives& shared) { shared.arrive(); });
  if (operation.nodes()->place == 0) co_await between_leaders(operation);
  co_await operation.together(NodePart::down,
                              [](Operation&, SharedCollectives& shared) { shared.release(); });
}

// The same by two teams, of which none hears of all ranks and lets them go.
Task around_two_teams(Operation& operation) {
  co_await operation.together(NodePart::up, [](Operation&, SharedCollectives& shared) {
    shared.arrive();
    shared.team().end_line_step();
  });
  if (operation.nodes()->place == 0) co_await between_leaders(operation);
  co_await operation.together(NodePart::down,
                              [](Operation&, SharedCollectives& shared) { shared.release_alone(); });
}

Task around_a_tree(Operation& operation) {
  const int place = operation.nodes()->place;
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
    co_await between_leaders(operation);
  }
  for (distance /= 2; distance > 0; distance /= 2)
    if (place + distance < ranks) operation.send(place + distance, nullptr, 0);
  co_await operation.arrived();
}

}  // namespace

Task barrier_two_level(Operation& operation) {
  if (takes_turns(operation)) co_await meet_in_background(operation);
  among_node(operation);
  if (operation.node_team() != nullptr) co_await meet(operation, NodePart::up);
  if (!has_team(operation, NodePart::up)) {
    operation.pass_turns();
    co_await around_a_tree(operation);
  } else if (operation.background) {
    co_await around_two_teams(operation);
  } else {
    co_await around_a_team(operation);
  }
  operation.among_all();
}

}  // namespace hawser::algorithms
