// What a program needs to find its virtual host's adapters: the variables that `hawser fabric run` sets, and
// that `hawser fabric environment` prints for launchers.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace hawser {

using FabricVariables = std::vector<std::pair<std::string, std::string>>;

// Asks the fabric's daemon. Paths of libraries are put before those that this process has been given.
Result<FabricVariables> fabric_environment(const std::string& fabric, const std::string& host);

}  // namespace hawser
