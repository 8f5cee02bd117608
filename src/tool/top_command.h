#pragma once

#include <span>
#include <string_view>

namespace hawser {

// `hawser top`: shows the status tables of this user's processes, again and again.
int run_top(std::span<const std::string_view> words);

}  // namespace hawser
