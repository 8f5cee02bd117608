// Faults drawn at random for a program that runs unmodified: what `hawser sim campaign --program` runs it
// under.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "testbed/simulator/fabric_options.h"

namespace hawser {

// Adds one to five incidents to a fabric that is laid out, as in the campaign of faults; afterwards the
// fabric is made whole, and the job has 60 s of virtual time to end. `packets`: about how many the program
// sends. An error if the topology is not one whose switches each host is on.
Result<> draw_faults(FabricOptions& fabric, std::uint64_t seed, std::uint64_t packets);

}  // namespace hawser
