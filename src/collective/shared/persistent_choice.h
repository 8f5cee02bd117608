// Which persistent operations within a node go through shared memory, and which by messages.
#pragma once

#include <cstdint>

#include "collective/call.h"

namespace hawser {

// `bytes`: SharedCollectives::amount_of() the call. `crowded`: ranks share cores.
bool pays_in_part(Collective kind, std::int64_t bytes, int ranks, bool crowded);

}  // namespace hawser
