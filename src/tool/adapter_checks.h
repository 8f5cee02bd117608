// What `hawser doctor` looks at of adapters and their ports.
#pragma once

#include "base/knobs.h"
#include "tool/finding.h"

namespace hawser {

// Whether there are any.
bool check_adapters(const Knobs& knobs, Findings& findings);

}  // namespace hawser
