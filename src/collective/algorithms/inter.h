// What the collectives on intercommunicators have in common. Messages go to the remote group, by its ranks,
// except between two calls of Operation::switch_groups().
#pragma once

#include "collective/algorithms/algorithms.h"

namespace hawser::algorithms {

// From rank 0 of our own group to all of it.
Task inter_spread(Operation& operation, std::byte* data, std::int64_t bytes);
// Reduces plan.operands of our own group at its rank 0.
Task inter_collect(Operation& operation);

}  // namespace hawser::algorithms
