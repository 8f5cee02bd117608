#include "rails/policy/scheduling_policy.h"

#include <fmt/format.h>

#include <charconv>

#include "base/failure.h"
#include "rails/policy/policies.h"

namespace hawser {
namespace {

constexpr PolicyInfo policies[] = {
    {"auto", "", "stripes that all finish at the same time, over as few rails and paths as that takes", 0, 0,
     0, make_automatic},
    {"binding", "V07 4.1.2", "all messages on one connection, another for each process of a node", 0, 0, 0,
     make_binding},
    {"round_robin", "V07 4.1.2", "whole messages, each on the next connection", 0, 0, 0, make_round_robin},
    {"weighted_round_robin", "V07 4.1.2", "the same, with turns in proportion to the weights", 0, 0, 0,
     make_weighted_round_robin},
    {"window_round_robin", "V07 4.1.2",
     "the same as round_robin, W messages at each turn: window_round_robin(W)", 1, 4, 0,
     make_window_round_robin},
    {"even", "V07 4.1.2", "equal stripes on all connections", 0, 0, 0, make_even_striping},
    {"weighted", "V07 4.1.2", "stripes in proportion to the rails' nominal rates", 0, 0, 0,
     make_weighted_striping},
    {"adaptive", "V07 7.1.2", "stripes in proportion to the measured rates", 0, 0, 0, make_adaptive_striping},
    {"epc", "V07 6.2", "equal stripes for blocking and collective messages, round robin for others", 0, 0, 0,
     make_epc},
    {"bss", "V07 8.2", "stripes on the best of the paths: bss(paths,batch)", 2, 12, 3, make_bss},
};

Error unknown(std::string_view text, std::string_view what) {
  std::string names;
  for (const PolicyInfo& info : policies) {
    if (!names.empty()) names += ", ";
    names += info.name;
    if (info.parameters == 1) names += fmt::format("({})", info.first);
    if (info.parameters == 2) names += fmt::format("({},{})", info.first, info.second);
  }
  return failure(ErrorKind::invalid_argument, "HAWSER_RAIL_POLICY={}: {}; must be one of {}", text, what,
                 names);
}

}  // namespace

std::span<const PolicyInfo> scheduling_policies() { return policies; }

Result<std::unique_ptr<SchedulingPolicy>> make_scheduling_policy(std::string_view text, int rotation,
                                                                 int home) {
  const std::size_t bracket = text.find('(');
  const std::string_view name = text.substr(0, bracket);
  const PolicyInfo* info = nullptr;
  for (const PolicyInfo& candidate : policies)
    if (candidate.name == name) info = &candidate;
  if (info == nullptr) return unknown(text, "no such policy");
  PolicyParameters parameters{info->first, info->second, rotation, home};
  if (bracket != std::string_view::npos) {
    const char* at = text.data() + bracket + 1;
    const char* end = text.data() + text.size();
    int given = 0;
    for (bool more = true; more; ++given) {
      int number = 0;
      const auto parsed = std::from_chars(at, end, number);
      if (given == info->parameters) return unknown(text, "more numbers than it takes");
      if (parsed.ec != std::errc() || parsed.ptr == end || number < 1 || number > 65535)
        return unknown(text, "something other than numbers from 1 to 65535 in its brackets");
      (given == 0 ? parameters.first : parameters.second) = number;
      more = *parsed.ptr == ',';
      if (!more && (*parsed.ptr != ')' || parsed.ptr + 1 != end))
        return unknown(text, "a bracket is missing, or not the end");
      at = parsed.ptr + 1;
    }
  }
  return info->make(parameters);
}

}  // namespace hawser
