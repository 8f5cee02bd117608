// The one reader of the process's environment variables.
#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace hawser {

// The `NAME=value` texts of this process. The views are valid until the program changes its environment.
std::vector<std::string_view> environment_variables();

// The value of a variable in such a list, or an empty view with null data if it is not there.
std::string_view find_variable(std::span<const std::string_view> environment, std::string_view name);

}  // namespace hawser
