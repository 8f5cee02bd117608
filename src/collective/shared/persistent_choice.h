// Which persistent operations go through shared memory within their nodes, and which by messages.
#pragma once

#include <cstdint>

#include "collective/call.h"

namespace hawser {

// `bytes`: SharedCollectives::amount_of() the call. `crowded`: ranks share cores.
bool pays_in_part(Collective kind, std::int64_t bytes, int ranks, bool crowded);

// Whether the node's part of an operation of several nodes may, where costs say so. `most_on_node`: ranks of
// the fullest node; `crowded`: of some node they share cores.
bool may_use_part_of_node(Collective kind, int most_on_node, bool crowded);

}  // namespace hawser
