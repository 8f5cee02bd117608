// What `hawser fabric use` tells of a virtual fabric: its hosts, and the variables that programs there need.
// Pure functions; fabric_lease.h asks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace hawser {

struct FabricPlan {
  struct Variable {
    std::string name, value;
    bool in_front = false;  // of what the variable lists already, with a colon between
  };
  struct Host {
    std::string name;
    std::vector<Variable> variables;
  };
  std::vector<Variable> common;
  std::vector<Host> hosts;

  const Host* find(std::string_view host) const;
};

// Lines NAME=VALUE and NAME+=VALUE, after `host H` for that host alone.
Result<FabricPlan> parse_fabric_plan(std::string_view text);

// `environment` (entries NAME=VALUE) as a program on this host gets it.
std::vector<std::string> on_host(const FabricPlan& plan, const FabricPlan::Host& host,
                                 std::vector<std::string> environment);

}  // namespace hawser
