// What algorithms of two levels have in common: first within nodes, then between their leaders, or the other
// way round; on each level the algorithm that is the cheapest there.
#pragma once

#include <cstring>

#include "collective/algorithm.h"
#include "collective/algorithms/algorithms.h"
#include "collective/node_layout.h"

namespace hawser::algorithms {

// Whether the node's part of a blocking operation goes through areas on all nodes that have several ranks;
// and whether that of one in the background may.
bool goes_through_teams(const Operation& operation);
bool may_take_turns(const Operation& operation);

// Among the ranks of this process's node, as 0, 1, ...
void among_node(Operation& operation);
// Among one rank of each node, as the nodes are numbered; by those only. Numbers from leaders_with.
void among_leaders(Operation& operation, const int* leaders);
// The nodes' first ranks, but for its own node the root.
const int* leaders_with(Operation& operation, int root);
// Where this process's node has its leader among its ranks.
int place_of_leader(Operation& operation, const int* leaders);

// The cheapest algorithm over plan, among those who take part now, to be awaited at once. `bytes` and
// `elements` as in Shape. The other form is for ranks that have a node each, of which `sharing` ranks do the
// same at the same time.
Task best(Operation& operation, Collective kind, std::int64_t bytes, std::int64_t elements = 0);
const Algorithm& best_row(Operation& operation, Collective kind, std::int64_t bytes,
                          std::int64_t elements = 0);
Task best_between(Operation& operation, Collective kind, std::int64_t bytes, std::int64_t elements = 0,
                  int sharing = 1);

// Chooses which parts go through the node's areas; and an operation in the background takes its turns there.
// First of all in an algorithm's text, which awaits meet_in_background next if the answer is true.
bool takes_turns(Operation& operation);
Task meet_in_background(Operation& operation);
// The first half of takes_turns, of a blocking operation. Alike on all ranks, also on those without a team.
void choose_areas(Operation& operation);
// The node's ranks meet in shared memory, if the part of a blocking operation goes there. To be awaited where
// among_node() holds.
Task meet(Operation& operation, NodePart part);
// Then, whether there is an area for the part, alike on all of the node's ranks.
bool has_team(const Operation& operation, NodePart part);

// Allgather: what leaders do if there is multicast, in place of best_between. `bytes` as there.
Task allgather_leaders(Operation& operation, std::int64_t bytes);

// Blocks of `block` bytes for each rank from `base` on, node by node, those of a node as one.
Blocks node_blocks(Operation& operation, std::byte* base, std::int64_t block);
// Among the ranks that have this process's place on their nodes; all nodes have the same number of ranks.
void among_column(Operation& operation);

}  // namespace hawser::algorithms
