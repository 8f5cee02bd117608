// What a program needs to find its virtual host's adapters: the variables that `hawser fabric run` sets and
// that `hawser fabric use` tells launchers.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace hawser {

struct FabricVariable {
  std::string name, value;
  bool in_front = false;  // of what the variable lists already, with a colon between
};

// For every program on the fabric.
Result<std::vector<FabricVariable>> fabric_variables(const std::string& fabric);
// For those on a host. `adapters` is their number, as the daemon answers it to `host`.
std::vector<FabricVariable> host_variables(const std::string& host, const std::string& adapters);

// Sets it in this process.
void set_variable(const FabricVariable& variable);

}  // namespace hawser
