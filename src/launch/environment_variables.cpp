#include "launch/environment_variables.h"

#include <unistd.h>

namespace hawser {

std::vector<std::string_view> environment_variables() {
  std::vector<std::string_view> variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) variables.emplace_back(*entry);
  return variables;
}

std::string_view find_variable(std::span<const std::string_view> environment, std::string_view name) {
  for (const std::string_view entry : environment)
    if (entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=')
      return entry.substr(name.size() + 1);
  return {};
}

}  // namespace hawser
