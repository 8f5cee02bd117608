#include "launch/mpiexec/fabric_plan.h"

#include <algorithm>

#include "base/failure.h"

namespace hawser {
namespace {

void apply(const FabricPlan::Variable& variable, std::vector<std::string>& environment) {
  const std::string prefix = variable.name + "=";
  const auto entry = std::find_if(environment.begin(), environment.end(),
                                  [&](const std::string& each) { return each.starts_with(prefix); });
  if (entry == environment.end()) {
    environment.push_back(prefix + variable.value);
  } else if (!variable.in_front || *entry == prefix) {
    *entry = prefix + variable.value;
  } else if (!(*entry + ":").starts_with(prefix + variable.value + ":")) {
    entry->insert(prefix.size(), variable.value + ":");
  }
}

}  // namespace

const FabricPlan::Host* FabricPlan::find(std::string_view host) const {
  const auto found =
      std::find_if(hosts.begin(), hosts.end(), [&](const Host& each) { return each.name == host; });
  return found == hosts.end() ? nullptr : &*found;
}

Result<FabricPlan> parse_fabric_plan(std::string_view text) {
  FabricPlan plan;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.starts_with("host ")) {
      plan.hosts.push_back({std::string(line.substr(5)), {}});
      continue;
    }
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos || equals == 0)
      return failure(ErrorKind::internal, "unexpected output of `hawser fabric use`: '{}'", line);
    const bool in_front = line[equals - 1] == '+';
    (plan.hosts.empty() ? plan.common : plan.hosts.back().variables)
        .push_back({std::string(line.substr(0, equals - (in_front ? 1 : 0))),
                    std::string(line.substr(equals + 1)), in_front});
  }
  if (plan.hosts.empty()) return failure(ErrorKind::internal, "`hawser fabric use` names no host");
  return plan;
}

std::vector<std::string> on_host(const FabricPlan& plan, const FabricPlan::Host& host,
                                 std::vector<std::string> environment) {
  for (const FabricPlan::Variable& variable : plan.common) apply(variable, environment);
  for (const FabricPlan::Variable& variable : host.variables) apply(variable, environment);
  return environment;
}

}  // namespace hawser
