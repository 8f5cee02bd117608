// What `hawser doctor` looks at of the host and of what this user may do: limits, memory of other processes,
// addresses, processors.
#pragma once

#include "tool/finding.h"

namespace hawser {

void check_limits(bool adapters, Findings& findings);
void check_shared_memory(Findings& findings);
void check_addresses(Findings& findings);
void check_processors(Findings& findings);

}  // namespace hawser
